//! Kinds of servers, overrun, the protocol of locks and numbers of VCPUs that are open.

use planner::completion::{Objective, Options, complete, complete_with};
use policy::server::kind::Kind;
use system::description::System;
use system::plan::{Class, Locks};

use crate::random::{SMALL, Shape, system};
use crate::{holds, planned_texts, read};
