(* Certificates: bounds for the tasks of one VCPU, which Coq checks by computation.

   A certificate is a [vcpu], its parameters, and a list of [bound]s, each with the windows that lead
   to it. [check] computes with binary numbers. [certified] says what a successful check means: no
   job takes longer than its bound, in any course of events ([run]) that obeys the parameters
   ([obeys]). *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Tasks Losses Supply Waits Below.
From Bulkhead Require Servers.
Import ListNotations.

Open Scope N_scope.

(* A task. Times are in slots. [colors]: the colours of its cache lines, bit by bit; [accesses]: those of a job to memory,
   if they are known; [tied]: the next task has the same priority. *)
Record task := { wcet : N; every : N; jitter : N; blocking : N; suspension : N; colors : N;
                 accesses : option N; tied : bool }.

(* The server of a VCPU. [counted]: the budget that those below count, at least [budget]. *)
Record server := { kind : Servers.kind; budget : N; counted : N; period : N }.

(* Events of the hypervisor: each takes [cost] slots of the VCPU. *)
Record source := { cost : N; spacing : N; early : N }.

(* Accesses of a VM with a budget delay others for [step] in each [span], for [credit] once, and up to [after] later. *)
Record limit := { step : N; span : N; after : N; credit : N }.

(* Other PCPUs: an access of the VCPU waits for [wait] at most, and all of them no longer than [limits] say, if there are
   any. *)
Record interferer := { wait : N; limits : option (list limit) }.

Inductive place :=
  | Whole                                       (* a PCPU of its own *)
  | Served (own : server) (W : N)               (* a server, which gets its budget within [W] *)
  | Promised (own : server) (W : N)             (* the same as a hypothesis: nothing is known of those above *)
  | Background.                                 (* what those above leave *)

Record vcpu := {
  above : list server;                          (* the servers above on the PCPU, the highest first *)
  at_place : place;
  late : N;                                     (* slots without service, once in a busy window *)
  tasks : list task;                            (* the highest priority first *)
  reload : N;                                   (* slots in which a colour is loaded again *)
  sources : list source;
  once : N;                                     (* slots of the hypervisor, once in a busy window *)
  interferers : list interferer;                (* whose accesses those of the tasks wait for *)
  on_way : N;                                   (* accesses that are on their way when a window begins *)
  reloads_of_color : N }.                       (* accesses that load a colour again *)

(* A bound for the task with this number, and a window for each job of its busy window. *)
Record bound := { of : nat; response : N; windows : list N }.

(** * The check *)

Definition ceilN a b := (a + b - 1) / b.
Fixpoint sumN {A} (f : A -> N) (l : list A) : N :=
  match l with nil => 0 | x :: r => f x + sumN f r end.

Definition no_task := {| wcet := 0; every := 1; jitter := 0; blocking := 0; suspension := 0; colors := 0;
  accesses := Some 0; tied := false |}.
Definition no_server := {| kind := Servers.Periodic; budget := 1; counted := 1; period := 1 |}.
Definition task_of v i := nth i (tasks v) no_task.

Definition takesN s w :=
  match kind s with
  | Servers.Deferrable => ceilN (w + (period s - counted s)) (period s) * counted s
  | _ => ceilN w (period s) * counted s
  end.

Definition soundN s := (0 <? budget s) && (budget s <=? counted s) && (counted s <=? period s).

Definition place_ok v := forallb soundN (above v) &&
  match at_place v with
  | Whole => match above v with nil => true | _ => false end
  | Served own W => soundN own && (W <=? period own)
      && (counted own + late v + sumN (fun s => takesN s W) (above v) <=? W)
  | Promised own W => soundN own && match above v with nil => true | _ => false end
  | Background => true
  end.

Definition stairN B T r := r / T * B + N.min B (r mod T).
Definition sbfN B T W w := stairN B T (w - ((T - B) + (W - B))).
Definition supplyN v w :=
  match at_place v with
  | Served own W | Promised own W => sbfN (budget own) (period own) W w
  | _ => w
  end.

(* The first and the last of the tasks with the priority of [i]. *)
Fixpoint ties (l : list task) : nat := match l with t :: r => if tied t then S (ties r) else 0%nat | nil => 0%nat end.
Definition last_of v i := (i + ties (skipn i (tasks v)))%nat.
Definition first_of v i := (i - ties (rev (firstn i (tasks v))))%nat.

(* What a job of each task above costs those from it down to the last task of the list. *)
Fixpoint bits (p : positive) : N :=
  match p with xH => 1 | xO p => bits p | xI p => 1 + bits p end.
Definition popcount n := match n with N0 => 0 | Npos p => bits p end.
Fixpoint gammas (delta : N) (l : list task) : list N * N :=
  match l with
  | nil => (nil, 0)
  | t :: r => let (g, u) := gammas delta r in
      (popcount (N.land (colors t) u) * delta :: g, N.lor (colors t) u)
  end.
Definition gammas_with v i delta := fst (gammas delta (firstn (S (last_of v i)) (tasks v))).
Definition gammas_of v i := gammas_with v i (reload v).

Definition promptly t := suspension t =? 0.
Definition is_background v := match at_place v with Background => true | _ => false end.

(* Tasks of a VCPU with a server or a PCPU of its own, down to which none suspends itself. *)
Definition plain v i := negb (is_background v) && forallb promptly (firstn (S (last_of v i)) (tasks v)).

(* A task above as its bound permits it to interfere. *)
Definition jitter_of (known : nat -> option N) h t :=
  if promptly t then Some (jitter t)
  else match known h with
       | Some R => if (wcet t <=? R) && (wcet t <=? every t) then Some (R - wcet t) else None
       | None => None
       end.

(* The demand of all of these tasks, the first of which is [h], but [i]. *)
Fixpoint streams known i h (ts : list task) (gs : list N) : option (list (N * N * N)) :=
  match ts, gs with
  | t :: ts, g :: gs =>
      if Nat.eqb h i then option_map (cons (1, 0, 0)) (streams known i (S h) ts gs) else
      match jitter_of known h t, streams known i (S h) ts gs with
      | Some j, Some rest =>
          if promptly t || (g =? 0) then Some ((every t, j, wcet t + g) :: rest) else None
      | _, _ => None
      end
  | _, _ => Some nil
  end.

Definition one_stream (w : N) (s : N * N * N) := let '(t, j, c) := s in ceilN (w + j) t * c.
Definition one_source w s := ceilN (w + early s) (spacing s) * cost s.

(* Waiting for memory: the accesses of the jobs in a window with [q + 1] own ones, of tasks below that are in a section
   when it begins, and those on their way then. *)
Definition those_below v i := if blocking (task_of v i) =? 0 then [] else skipn (S (last_of v i)) (tasks v).
Definition counts t := match accesses t with Some _ => true | None => false end.
Definition counted_of t := match accesses t with Some a => a | None => 0 end.
Definition known_accesses v i := forallb counts (firstn (S (last_of v i)) (tasks v)) && forallb counts (those_below v i).
Fixpoint accesses_above i h (ts : list task) (gs : list N) w :=
  match ts, gs with
  | t :: ts, g :: gs =>
      (if Nat.eqb h i then 0 else ceilN (w + jitter t) (every t) * (counted_of t + g))
      + accesses_above i (S h) ts gs w
  | _, _ => 0
  end.
Definition early_accesses v i := sumN counted_of (those_below v i) + on_way v.
Definition accesses_in v i q w := early_accesses v i + (q + 1) * counted_of (task_of v i)
  + accesses_above i 0 (firstn (S (last_of v i)) (tasks v)) (gammas_with v i (reloads_of_color v)) w.

Definition staircaseN l w := N.min w
  (N.min (step l) (span l) + stairN (N.min (step l) (span l)) (span l) (w + after l - N.min (step l) (span l)) + credit l).
Definition waitN v i q w it :=
  match known_accesses v i, limits it with
  | true, Some ls => N.min (wait it * accesses_in v i q w) (sumN (fun l => staircaseN l w) ls)
  | true, None => wait it * accesses_in v i q w
  | false, Some ls => sumN (fun l => staircaseN l w) ls
  | false, None => 0                            (* without a limit: [memory_ok] *)
  end.
Definition memoryN v i q w := sumN (waitN v i q w) (interferers v).

(* All that a window with [q + 1] own jobs needs, but these. *)
Definition base v (ss : list (N * N * N)) i q w :=
  sumN (one_stream w) ss + (once v + sumN (one_source w) (sources v)) +
  (if is_background v then late v + sumN (fun s => takesN s w) (above v) else memoryN v i q w) +
  (if promptly (task_of v i) then blocking (task_of v i) else 0).

Fixpoint windows_ok (base : N -> N -> N) (supply : N -> N) (c j t R q : N) (ws : list N) : bool :=
  match ws with
  | nil => false
  | w :: rest => (base q w + (q + 1) * c <=? supply w) && (w + j <=? R + q * t)
      && match rest with
         | nil => (0 <? w) && (w + j <=? (q + 1) * t)
         | _ => windows_ok base supply c j t R (q + 1) rest
         end
  end.

(* Tasks with the same priority may execute in turns. They have to be apart in the cache, because nothing limits how often
   they change; and [i] is held off for as long as any of them is. *)
Definition tie_ok v i :=
  let f := first_of v i in
  let n := (S (last_of v i) - f)%nat in
  Nat.eqb n 1 ||
  (forallb (fun t => blocking t <=? blocking (task_of v i)) (firstn n (skipn f (tasks v))) &&
   forallb (fun g => g =? 0) (firstn n (skipn f (gammas_with v i 1)))).

Definition has_limits it := match limits it with Some _ => true | None => false end.
Definition no_memory v := match interferers v with nil => true | _ => false end.
Definition memory_ok v i := no_memory v ||
  plain v i && forallb (fun it => known_accesses v i || has_limits it) (interferers v).

(* In the background tasks wait for no memory, have different priorities, and are held off for at least as long as those
   above. A sporadic server replenishes later when its VCPU sleeps. *)
Definition class_ok v i :=
  if is_background v then
    Nat.eqb (last_of v i) i && Nat.eqb (first_of v i) i && no_memory v &&
    forallb (fun t => blocking t <=? blocking (task_of v i)) (firstn (S i) (tasks v))
  else tie_ok v i && memory_ok v i &&
    match at_place v with
    | Served own _ | Promised own _ =>
        match kind own with Servers.Sporadic => promptly (task_of v i) | _ => true end
    | _ => true
    end.

(* What a job of the task needs, and loses each time that it continues. *)
Definition need t := wcet t + suspension t + (if promptly t then 0 else blocking t).

Definition bound_ok v known b :=
  let i := of b in
  let t := task_of v i in
  (Nat.ltb (last_of v i) (length (tasks v))) && class_ok v i &&
  match streams known i 0 (firstn (S (last_of v i)) (tasks v)) (gammas_of v i) with
  | None => false
  | Some ss => windows_ok (base v ss i) (supplyN v) (need t) (jitter t) (every t)
                 (response b) 0 (windows b)
  end.

Definition learn (known : nat -> option N) b h := if Nat.eqb h (of b) then Some (response b) else known h.

Fixpoint bounds_ok v known bs :=
  match bs with nil => true | b :: rest => bound_ok v known b && bounds_ok v (learn known b) rest end.

Definition sources_ok v := forallb (fun s => 0 <? spacing s) (sources v).
Definition tasks_ok v := forallb (fun t => 0 <? every t) (tasks v).
Definition limits_ok v := forallb (fun it =>
  match limits it with Some ls => forallb (fun l => 0 <? span l) ls | None => true end) (interferers v).

Definition check v bs :=
  place_ok v && tasks_ok v && sources_ok v && limits_ok v && bounds_ok v (fun _ => None) bs.

Close Scope N_scope.

(** * What is assumed of a run *)

Record run := {
  arr : nat -> nat -> nat;                      (* arrival, release and execution of each job *)
  rel : nat -> nat -> nat;
  needs : nat -> nat -> nat;
  sched : nat -> option (nat * nat);            (* the job that executes in a slot *)
  susp : nat -> nat -> nat -> bool;             (* whether a job suspends itself in a slot *)
  starts : nat -> nat;                          (* the start of the first period of each server *)
  does : nat -> Servers.behaviour;              (* use of budgets on the PCPU; own: after those above *)
  unserved : nat -> bool;                       (* slots that count for no budget *)
  (* The slots in which the VCPU waits for the accesses of an interferer. For a task with a bound: the jobs whose accesses
     wait, or whether it is one from before a window. For a limit of the interferer: the start of its first period, and
     the period of the access that is waited for. *)
  waits : nat -> nat -> bool;
  whose : nat -> nat -> nat -> nat -> nat -> bool;
  early_one : nat -> nat -> nat -> nat -> bool;
  epoch : nat -> nat -> nat;
  causes : nat -> nat -> nat -> nat -> bool }.

Section Obeys.
Variable v : vcpu.
Variable r : run.

Definition tC h := N.to_nat (wcet (task_of v h)).
Definition tT h := N.to_nat (every (task_of v h)).
Definition tJ h := N.to_nat (jitter (task_of v h)).
Definition tS h := N.to_nat (suspension (task_of v h)).

Definition own_number := length (above v).
Definition all_servers := above v ++ match at_place v with Served own _ | Promised own _ => [own] | _ => [] end.
Definition server_of h :=
  let s := nth h all_servers no_server in
  {| Servers.of_kind := kind s; Servers.budget := N.to_nat (budget s);
     Servers.limit := N.to_nat (counted s); Servers.period := N.to_nat (period s);
     Servers.start := starts r h |}.

Definition ready x := Servers.ready (does r own_number) x.
Definition used x := Servers.used (does r own_number) x.

(* The slots that count as supply. *)
Definition supplied i x :=
  match at_place v with
  | Served _ _ => if plain v i then used x else used x || negb (ready x)
  | Promised _ _ => used x || negb (ready x)
  | _ => true
  end.

(* What those above take, if there is no server. *)
Definition top x := if is_background v then Servers.taken (does r) own_number (unserved r) x else false.
Definition topwants x :=
  if is_background v
  then existsb (fun h => Servers.wants (server_of h) (does r h) x) (seq 0 own_number) else false.

(* The VCPUs that share the PCPU follow the rules of their servers, and take slots in their order. *)
Definition pcpu_obeys :=
  match at_place v with
  | Whole => True
  | Served own W =>
      (forall h, h <= own_number -> Servers.follows (server_of h) (does r h)) /\
      Servers.supplies (server_of own_number) (does r own_number) /\
      Servers.in_order server_of (does r) own_number (unserved r) /\
      Servers.rarely_late server_of (does r) own_number (unserved r) (N.to_nat W) (N.to_nat (late v)) /\
      (* The VCPU is ready while a job could execute, and no job comes before its first period. *)
      (forall h k x, eligible (rel r) (needs r) (sched r) (susp r) h k x = true -> ready x = true) /\
      (forall h k, starts r own_number <= arr r h k)
  | Promised own W =>
      (* The hypothesis: what the other VCPUs of the PCPU leave, as if they left the budget within [W] of each period. *)
      (forall t w, starts r own_number <= t -> Supply.sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) w
         <= cnt (fun x => used x || negb (ready x)) t w) /\
      (forall h k x, eligible (rel r) (needs r) (sched r) (susp r) h k x = true -> ready x = true) /\
      (forall h k, starts r own_number <= arr r h k)
  | Background =>
      (forall h, h < own_number -> Servers.follows (server_of h) (does r h)) /\
      (forall i t w, (forall h, h < own_number -> Servers.calm (server_of h) (does r h) t) ->
         (forall x, t <= x < t + w ->
            in_need (rel r) (needs r) (sched r) (susp r) topwants i x) ->
         cnt (unserved r) t w <= N.to_nat (late v))
  end.

(* The slots that the hypervisor takes, and those in which lines are loaded again. *)
Definition overheads w := overhead
  (fun e => N.to_nat (cost (nth e (sources v) {| cost := 0; spacing := 1; early := 0 |})))
  (fun e => N.to_nat (spacing (nth e (sources v) {| cost := 0; spacing := 1; early := 0 |})))
  (fun e => N.to_nat (early (nth e (sources v) {| cost := 0; spacing := 1; early := 0 |})))
  (length (sources v)) (N.to_nat (once v)) w.
Definition gamma i h := N.to_nat (nth h (gammas_of v i) 0%N).
Definition may_lose i q w :=
  (if promptly (task_of v i) then 1 else S q) * N.to_nat (blocking (task_of v i))
  + reloading tT tJ i (last_of v i) (gamma i) w + overheads w.

(* The same run without tasks that suspend themselves, but [i]. A window of [i] begins when the others are quiet, and is
   busy with them: those that suspend themselves do not execute for more than [Below.suspending_le] in any window. *)
Definition keeps i h := (h =? i) || promptly (task_of v h).
Definition kept_needs i h k := if keeps i h then needs r h k else 0.
Definition kept_sched i x :=
  match sched r x with Some (h, k) => if keeps i h then Some (h, k) else None | None => None end.
Definition window_of i := busy_window (rel r) (kept_needs i) (kept_sched i) (last_of v i).
Definition turns_of i := turns (rel r) (kept_needs i) (kept_sched i) i.

(* No more slots are lost than that, besides waiting for memory and suspensions of the task itself: see [Losses.losses]. *)
Definition waiting x := existsb (fun j => waits r j x) (seq 0 (length (interferers v))).
Definition own_asleep i x := existsb (fun k => susp r i k x) (seq 0 (S x)).
Definition lost_of i x := lost (sched r) (supplied i) (last_of v i) x && negb (waiting x) && negb (own_asleep i x).
Definition loses_little i :=
  if is_background v
  then loses_below (rel r) (needs r) (sched r) (supplied i) (susp r) top topwants i (may_lose i)
  else forall t0 w a q, window_of i t0 w -> turns_of i a q t0 w -> cnt (lost_of i) t0 w <= may_lose i q w.

(* Waiting for memory is waiting of accesses of the jobs for those of a VM: see [Waits.account] for a budget. *)
Definition no_limit := {| step := 0; span := 1; after := 0; credit := 0 |}.
Definition no_interferer := {| wait := 0; limits := None |}.
Definition wait_of j h a := N.to_nat (wait (nth j (interferers v) no_interferer) * (counted_of (task_of v h) + a))%N.
Definition waits_of i j h := wait_of j h (if Nat.eqb h i then 0 else nth h (gammas_with v i (reloads_of_color v)) 0)%N.
Definition waits_early i j := N.to_nat (wait (nth j (interferers v) no_interferer) * early_accesses v i)%N.
Definition source_obeys j c l := source_rule (N.to_nat (span l)) (N.to_nat (after l)) (N.to_nat (step l))
  (N.to_nat (credit l)) (epoch r j c) (causes r j c).
Definition waits_little i j :=
  (known_accesses v i = true -> own_rule (rel r) (kept_needs i) (kept_sched i) i (last_of v i) (waits r j) (whose r i j)
    (waits_of i j) (early_one r i j) (waits_early i j)) /\
  match limits (nth j (interferers v) no_interferer) with
  | None => True
  | Some ls => (forall c, c < length ls -> source_obeys j c (nth c ls no_limit)) /\
      forall x, waits r j x = true -> exists c p, c < length ls /\ causes r j c p x = true
  end.
Definition memory_obeys i := is_background v = false -> forall j, j < length (interferers v) -> waits_little i j.

Definition obeys :=
  valid tC tT tJ (arr r) (rel r) (needs r) (sched r) /\
  suspends tS (rel r) (needs r) (sched r) (susp r) /\
  pcpu_obeys /\
  forall i, i < length (tasks v) -> loses_little i /\ memory_obeys i.
End Obeys.

(** * Why a successful check is a proof *)

Lemma ceilN_ok a b : N.to_nat (ceilN a b) = ceil (N.to_nat a) (N.to_nat b).
Proof. unfold ceilN, ceil. now rewrite N2Nat.inj_div, N2Nat.inj_sub, !N2Nat.inj_add. Qed.

Lemma sumN_ok {A} (f : A -> N) (l : list A) d :
  N.to_nat (sumN f l) = sum (fun h => N.to_nat (f (nth h l d))) (length l).
Proof.
  assert (Sh : forall g n, sum g (S n) = g 0 + sum (fun h => g (S h)) n).
  { intros g n. induction n; simpl in *; lia. }
  induction l as [|a l IH]; auto. cbn [length sumN]. rewrite Sh. cbn [nth].
  rewrite N2Nat.inj_add, IH. reflexivity.
Qed.

Lemma stairN_ok B T r : N.to_nat (stairN B T r) = stair (N.to_nat B) (N.to_nat T) (N.to_nat r).
Proof.
  unfold stairN, stair.
  now rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_min, N2Nat.inj_div, N2Nat.inj_mod.
Qed.

Lemma sbfN_ok B T W w :
  N.to_nat (sbfN B T W w) = sbf (N.to_nat B) (N.to_nat T) (N.to_nat W) (N.to_nat w).
Proof.
  unfold sbfN, sbf. now rewrite stairN_ok, !N2Nat.inj_sub, N2Nat.inj_add, !N2Nat.inj_sub.
Qed.

Lemma staircaseN_ok l w : N.to_nat (staircaseN l w) = staircase (N.to_nat (span l)) (N.to_nat (after l))
  (N.to_nat (step l)) (N.to_nat (credit l)) (N.to_nat w).
Proof.
  unfold staircaseN, staircase.
  now rewrite N2Nat.inj_min, !N2Nat.inj_add, stairN_ok, N2Nat.inj_sub, N2Nat.inj_add, !N2Nat.inj_min.
Qed.

Lemma takesN_ok s w st : N.to_nat (takesN s w) = Servers.takes
  {| Servers.of_kind := kind s; Servers.budget := N.to_nat (budget s);
     Servers.limit := N.to_nat (counted s); Servers.period := N.to_nat (period s);
     Servers.start := st |} (N.to_nat w).
Proof.
  unfold takesN, Servers.takes. simpl. destruct (kind s);
    now rewrite N2Nat.inj_mul, ceilN_ok, ?N2Nat.inj_add, ?N2Nat.inj_sub.
Qed.

Lemma soundN_ok s st : soundN s = true -> Servers.sound
  {| Servers.of_kind := kind s; Servers.budget := N.to_nat (budget s);
     Servers.limit := N.to_nat (counted s); Servers.period := N.to_nat (period s);
     Servers.start := st |}.
Proof.
  unfold soundN, Servers.sound. simpl. rewrite !andb_true_iff, N.ltb_lt, !N.leb_le. lia.
Qed.

Lemma windows_sound (baseN : N -> N -> N) (supply : N -> N) c j t R ws : forall q,
  windows_ok baseN supply c j t R (N.of_nat q) ws = true ->
  let w := fun x => nth (x - q) ws 0%N in let n := q + length ws - 1 in
  (forall x, q <= x <= n ->
     N.to_nat (baseN (N.of_nat x) (w x)) + S x * N.to_nat c <= N.to_nat (supply (w x))) /\
  (forall x, q <= x <= n -> N.to_nat (w x) + N.to_nat j <= N.to_nat R + x * N.to_nat t) /\
  q <= n /\ 0 < N.to_nat (w n) /\ N.to_nat (w n) + N.to_nat j <= S n * N.to_nat t.
Proof.
  induction ws as [|a rest IH]; [discriminate|]. intros q H. cbn [windows_ok] in H.
  apply andb_true_iff in H. destruct H as [H H3]. apply andb_true_iff in H. destruct H as [H1 H2].
  apply N.leb_le in H1, H2.
  assert (A1 : N.to_nat (baseN (N.of_nat q) a) + S q * N.to_nat c <= N.to_nat (supply a)) by lia.
  assert (A2 : N.to_nat a + N.to_nat j <= N.to_nat R + q * N.to_nat t) by lia.
  destruct rest as [|b rest].
  - apply andb_true_iff in H3. destruct H3 as [H3 H4]. apply N.ltb_lt in H3. apply N.leb_le in H4.
    cbn [length]. replace (q + 1 - 1) with q by lia. rewrite Nat.sub_diag. cbn [nth].
    repeat split; try lia; intros x X; replace x with q by lia; rewrite Nat.sub_diag; auto.
  - replace (N.of_nat q + 1)%N with (N.of_nat (S q)) in H3 by lia.
    destruct (IH (S q) H3) as [I1 [I2 [I3 [I4 I5]]]]. clear IH H3.
    assert (En : S q + length (b :: rest) - 1 = q + length (a :: b :: rest) - 1) by (simpl; lia).
    rewrite En in *. set (n := q + length (a :: b :: rest) - 1) in *.
    assert (Z : forall x, S q <= x -> nth (x - q) (a :: b :: rest) 0%N = nth (x - S q) (b :: rest) 0%N).
    { intros x X. replace (x - q) with (S (x - S q)) by lia. reflexivity. }
    assert (Y : nth (q - q) (a :: b :: rest) 0%N = a) by now rewrite Nat.sub_diag.
    rewrite <- (Z n) in I4, I5 by lia.
    split; [|split; [|split; [lia|split; [exact I4|exact I5]]]]; intros x X;
      (destruct (Nat.eq_dec x q) as [->|]; [now rewrite Nat.sub_diag|]).
    + specialize (I1 x ltac:(lia)). rewrite <- (Z x) in I1 by lia. exact I1.
    + specialize (I2 x ltac:(lia)). rewrite <- (Z x) in I2 by lia. exact I2.
Qed.

Lemma nth_firstn {A} (l : list A) n h d : h < n -> nth h (firstn n l) d = nth h l d.
Proof.
  revert n h. induction l; intros [|n] [|h] L; simpl; auto; try lia. apply IHl. lia.
Qed.

Lemma gammas_length delta l : length (fst (gammas delta l)) = length l.
Proof. induction l as [|t l IH]; auto. simpl. destruct (gammas delta l). simpl in *. lia. Qed.

(* The interference of another task, as the check counts it. *)
Lemma streams_ok known i ts : forall h gs ss d,
  streams known i h ts gs = Some ss -> length ts <= length gs -> length ss = length ts /\
  forall x, x < length ts -> if h + x =? i then nth x ss d = (1, 0, 0)%N else exists j,
    nth x ss d = (every (nth x ts no_task), j, (wcet (nth x ts no_task) + nth x gs 0)%N) /\
    jitter_of known (h + x) (nth x ts no_task) = Some j /\
    (promptly (nth x ts no_task) = true \/ nth x gs 0%N = 0%N).
Proof.
  induction ts as [|t ts IH]; intros h gs ss d E L.
  - simpl in E. injection E as <-. split; auto. simpl. lia.
  - destruct gs as [|g gs]; [simpl in L; lia|]. cbn [streams] in E.
    assert (Next : forall rest, streams known i (S h) ts gs = Some rest -> length rest = length ts /\
      forall x, x < length ts -> if h + S x =? i then nth x rest d = (1, 0, 0)%N else exists j,
        nth x rest d = (every (nth x ts no_task), j, (wcet (nth x ts no_task) + nth x gs 0)%N) /\
        jitter_of known (h + S x) (nth x ts no_task) = Some j /\
        (promptly (nth x ts no_task) = true \/ nth x gs 0%N = 0%N)).
    { intros rest R. destruct (IH (S h) gs rest d R) as [I1 I2]; [simpl in L; lia|]. split; auto.
      intros x X. specialize (I2 x X). now replace (S h + x) with (h + S x) in I2 by lia. }
    destruct (Nat.eqb_spec h i) as [Eh|Nh].
    { destruct (streams known i (S h) ts gs) as [rest|] eqn:R; [|discriminate]. injection E as <-.
      destruct (Next rest eq_refl) as [N1 N2]. split; [simpl; lia|]. intros [|x] X.
      - rewrite Nat.add_0_r, Eh, Nat.eqb_refl. reflexivity.
      - simpl in X. apply N2. lia. }
    destruct (jitter_of known h t) as [j|] eqn:J; [|discriminate].
    destruct (streams known i (S h) ts gs) as [rest|] eqn:R; [|discriminate].
    destruct (promptly t || (g =? 0)%N) eqn:G; [|discriminate]. injection E as <-.
    destruct (Next rest eq_refl) as [N1 N2]. split; [simpl; lia|]. intros [|x] X.
    + rewrite Nat.add_0_r. destruct (Nat.eqb_spec h i); [lia|].
      exists j. simpl. repeat split; auto. apply orb_true_iff in G.
      destruct G as [|G]; auto. right. now apply N.eqb_eq.
    + simpl in X. apply N2. lia.
Qed.

Section Certified.
Variable v : vcpu.
Variable r : run.
Hypothesis Ob : obeys v r.
Hypothesis Pl : place_ok v = true.
Hypothesis Lr : limits_ok v = true.

Notation done i R := (forall k, complete (needs r) (sched r) i k (arr r i k + N.to_nat R)).

Lemma overheads_ok w :
  N.to_nat (once v + sumN (one_source w) (sources v)) = overheads v (N.to_nat w).
Proof.
  unfold overheads, overhead.
  rewrite N2Nat.inj_add, (sumN_ok _ _ {| cost := 0; spacing := 1; early := 0 |}). f_equal.
  apply sum_eq. intros e _. unfold one_source. now rewrite N2Nat.inj_mul, ceilN_ok, N2Nat.inj_add.
Qed.

Lemma servers_sound h : h < length (above v) -> Servers.sound (server_of v r h).
Proof.
  intros L. unfold place_ok in Pl. apply andb_true_iff in Pl. destruct Pl as [P1 _].
  unfold server_of. apply soundN_ok. unfold all_servers. rewrite app_nth1 by auto.
  rewrite forallb_forall in P1. apply P1, nth_In. auto.
Qed.

Lemma takes_ok w : N.to_nat (sumN (fun s => takesN s w) (above v))
  = sum (fun h => Servers.takes (server_of v r h) (N.to_nat w)) (length (above v)).
Proof.
  rewrite (sumN_ok _ _ no_server). apply sum_eq. intros h L. unfold server_of, all_servers.
  rewrite app_nth1 by auto. apply takesN_ok.
Qed.

Lemma own_server own W : at_place v = Served own W ->
  nth (length (above v)) (all_servers v) no_server = own.
Proof.
  intros E. unfold all_servers. rewrite E, app_nth2 by lia. now rewrite Nat.sub_diag.
Qed.

Lemma tasks_prompt m h : h <= m -> m < length (tasks v) ->
  forallb promptly (firstn (S m) (tasks v)) = true -> promptly (task_of v h) = true.
Proof.
  intros L I F. rewrite forallb_forall in F. apply F. unfold task_of.
  rewrite <- (nth_firstn (tasks v) (S m) h no_task) by lia. apply nth_In. rewrite firstn_length. lia.
Qed.

Lemma prompt_zero h : promptly (task_of v h) = true -> tS v h = 0.
Proof. unfold promptly, tS. rewrite N.eqb_eq. intros ->. reflexivity. Qed.

Let Va : valid _ _ _ _ _ _ _ := proj1 Ob.
Let Su : suspends _ _ _ _ _ := proj1 (proj2 Ob).

(* A pending job of a task that never suspends itself means that some job could execute. *)
(* The run without tasks that suspend themselves. *)
Lemma keeps_own i : keeps v i i = true.
Proof. unfold keeps. now rewrite Nat.eqb_refl. Qed.

Lemma kept_service i h k t : keeps v i h = true -> service (kept_sched v r i) h k t = service (sched r) h k t.
Proof.
  intros K. apply cnt_ext. intros x _. unfold runs, kept_sched. destruct (sched r x) as [[g j]|]; auto.
  destruct (keeps v i g) eqn:G; auto. destruct (Nat.eqb_spec h g); auto. congruence.
Qed.

Lemma kept_complete i h k t : keeps v i h = true ->
  (complete (kept_needs v r i) (kept_sched v r i) h k t <-> complete (needs r) (sched r) h k t).
Proof. intros K. unfold complete, kept_needs. rewrite kept_service, K by auto. tauto. Qed.

Lemma kept_pending i h k x : pending (rel r) (kept_needs v r i) (kept_sched v r i) h k x ->
  keeps v i h = true /\ pending (rel r) (needs r) (sched r) h k x.
Proof.
  intros [R N]. destruct (keeps v i h) eqn:K.
  - split; auto. split; auto. intros F. apply N. now apply kept_complete.
  - exfalso. apply N. unfold complete, kept_needs. rewrite K. lia.
Qed.

Lemma kept_sched_in i x h k : kept_sched v r i x = Some (h, k) -> sched r x = Some (h, k) /\ keeps v i h = true.
Proof.
  unfold kept_sched. destruct (sched r x) as [[g j]|]; [|discriminate]. destruct (keeps v i g) eqn:G; [|discriminate].
  intros E. injection E as <- <-. auto.
Qed.

Definition kept_wcet i h := if keeps v i h then tC v h else 0.

Lemma kept_valid i : valid (kept_wcet i) (tT v) (tJ v) (arr r) (rel r) (kept_needs v r i) (kept_sched v r i).
Proof.
  constructor.
  - intros h k. unfold kept_needs, kept_wcet. destruct (keeps v i h); [apply (v_cost _ _ _ _ _ _ _ Va)|lia].
  - apply (v_period _ _ _ _ _ _ _ Va).
  - apply (v_sporadic _ _ _ _ _ _ _ Va).
  - apply (v_jitter _ _ _ _ _ _ _ Va).
  - intros x h k E. apply kept_sched_in in E. destruct E as [E K].
    destruct (v_runs _ _ _ _ _ _ _ Va _ _ _ E) as [R [N P]]. split; auto. split.
    + intros F. apply N. now apply (kept_complete i).
    + intros k' L. apply kept_complete; auto.
Qed.

Lemma pending_eligible h k x : tS v h = 0 -> pending (rel r) (needs r) (sched r) h k x ->
  exists j, eligible (rel r) (needs r) (sched r) (susp r) h j x = true.
Proof.
  intros Z [R N]. destruct (first_incomplete _ _ _ _ _ Su h k x R N) as [j [_ [_ [_ [E|E]]]]]; eauto.
  exfalso. pose proof (s_length _ _ _ _ _ Su h j x 1) as L. rewrite Z in L. simpl in L.
  rewrite Nat.add_0_r, E in L. lia.
Qed.

Section Served.
Variables (own : server) (W : N).
Hypothesis Pa : at_place v = Served own W.

Lemma place_facts : soundN own = true /\ N.to_nat W <= N.to_nat (period own) /\
  N.to_nat (counted own) + N.to_nat (late v)
  + sum (fun h => Servers.takes (server_of v r h) (N.to_nat W)) (length (above v)) <= N.to_nat W.
Proof.
  unfold place_ok in Pl. rewrite Pa in Pl. rewrite !andb_true_iff, !N.leb_le in Pl.
  destruct Pl as [_ [[P1 P2] P3]]. rewrite <- takes_ok. repeat split; auto; lia.
Qed.

Lemma all_sound h : h <= own_number v -> Servers.sound (server_of v r h).
Proof.
  intros L. destruct (Nat.eq_dec h (own_number v)) as [->|].
  - unfold server_of, own_number. rewrite (own_server own W Pa). apply soundN_ok.
    apply (proj1 place_facts).
  - apply servers_sound. unfold own_number in *. lia.
Qed.

Lemma served_started h k x : pending (rel r) (needs r) (sched r) h k x -> starts r (own_number v) <= x.
Proof.
  intros [R _]. pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite Pa in Pc.
  destruct Pc as [_ [_ [_ [_ [_ St]]]]]. pose proof (v_jitter _ _ _ _ _ _ _ Va h k).
  specialize (St h k). lia.
Qed.

Lemma eligible_pending h k x : eligible (rel r) (needs r) (sched r) (susp r) h k x = true ->
  pending (rel r) (needs r) (sched r) h k x.
Proof.
  unfold eligible, pending, complete. rewrite !andb_true_iff, Nat.leb_le, negb_true_iff, Nat.leb_gt.
  intros [[[A B] _] _]. split; auto. lia.
Qed.

Lemma own_fields : server_of v r (own_number v) =
  {| Servers.of_kind := kind own; Servers.budget := N.to_nat (budget own);
     Servers.limit := N.to_nat (counted own); Servers.period := N.to_nat (period own);
     Servers.start := starts r (own_number v) |}.
Proof. unfold server_of. now rewrite (own_server own W Pa : nth (own_number v) _ _ = own). Qed.

Lemma ready_supply t0 w : (0 < w -> starts r (own_number v) <= t0) ->
  (forall x, t0 <= x < t0 + w -> ready v r x = true) ->
  sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) w <= cnt (used v r) t0 w.
Proof.
  intros St Rd. destruct place_facts as [So [WT E]].
  destruct (Nat.eq_dec w 0) as [->|W0].
  { unfold sbf, stair. simpl. assert (N.to_nat (period own) <> 0).
    { unfold soundN in So. rewrite !andb_true_iff, N.ltb_lt, !N.leb_le in So. lia. }
    rewrite Nat.div_0_l, Nat.mod_0_l, Nat.min_0_r by auto. lia. }
  pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite Pa in Pc.
  destruct Pc as [Fo [Sp [Or [Ra _]]]].
  pose proof (Servers.server_supply (server_of v r) (does r) (own_number v) (unserved r)
    all_sound Fo Sp Or (N.to_nat W) (N.to_nat (late v)) Ra) as Q.
  rewrite own_fields in Q. apply Q; auto. apply St. lia.
Qed.

Lemma asleep_supply t0 w : kind own <> Servers.Sporadic -> (0 < w -> starts r (own_number v) <= t0) ->
  sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) w
  <= cnt (fun x => used v r x || negb (ready v r x)) t0 w.
Proof.
  intros K St. destruct place_facts as [So [WT E]].
  destruct (Nat.eq_dec w 0) as [->|W0].
  { unfold sbf, stair. simpl. assert (N.to_nat (period own) <> 0).
    { unfold soundN in So. rewrite !andb_true_iff, N.ltb_lt, !N.leb_le in So. lia. }
    rewrite Nat.div_0_l, Nat.mod_0_l, Nat.min_0_r by auto. lia. }
  pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite Pa in Pc.
  destruct Pc as [Fo [_ [Or [Ra _]]]].
  pose proof (Servers.server_supply_asleep (server_of v r) (does r) (own_number v) (unserved r)
    all_sound Fo Or (N.to_nat W) (N.to_nat (late v))) as Q.
  rewrite own_fields in Q. apply Q; auto. apply St. lia.
Qed.
End Served.

Definition sbf_of w := N.to_nat (supplyN v (N.of_nat w)).

Lemma sbf_of_served own W w : at_place v = Served own W -> sbf_of w
  = sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) w.
Proof. intros E. unfold sbf_of, supplyN. now rewrite E, sbfN_ok, Nat2N.id. Qed.

(* The supply of a VCPU outside the background, while a task that counts is pending. *)
Lemma kept_supply i : last_of v i < length (tasks v) -> is_background v = false -> class_ok v i = true ->
  respects_sbf (rel r) (kept_needs v r i) (kept_sched v r i) (supplied v r i) (last_of v i) sbf_of.
Proof.
  intros I Ba Cl t0 w Bu. unfold supplied. destruct (at_place v) as [|own W|own W|] eqn:E.
  - rewrite cnt_all by auto. unfold sbf_of, supplyN. rewrite E, Nat2N.id. auto.
  - rewrite (sbf_of_served own W w E).
    assert (Bp : forall x, t0 <= x < t0 + w -> exists h k, h <= last_of v i /\ keeps v i h = true
      /\ pending (rel r) (needs r) (sched r) h k x).
    { intros x X. destruct (Bu x X) as [h [k [Lh Q]]]. apply kept_pending in Q. exists h, k. tauto. }
    assert (St : 0 < w -> starts r (own_number v) <= t0).
    { intros P. destruct (Bp t0 ltac:(lia)) as [h [k [_ [_ Q]]]]. eapply served_started; eauto. }
    (* If all of them are prompt, the VCPU is ready. *)
    assert (Rd : (forall h, h <= last_of v i -> keeps v i h = true -> promptly (task_of v h) = true) ->
      sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) w <= cnt (used v r) t0 w).
    { intros Pr. apply (ready_supply own W E); auto. intros x X. destruct (Bp x X) as [h [k [Lh [K Q]]]].
      destruct (pending_eligible h k x) as [j El]; auto; [apply prompt_zero; auto|].
      pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite E in Pc.
      destruct Pc as [_ [_ [_ [_ [R _]]]]]. eapply R; eauto. }
    destruct (plain v i) eqn:Pn.
    + apply Rd. intros h Lh _. unfold plain in Pn. apply andb_true_iff in Pn. apply (tasks_prompt (last_of v i)); tauto.
    + unfold class_ok in Cl. rewrite Ba, E in Cl. apply andb_true_iff in Cl. destruct Cl as [_ Cl].
      destruct (kind own) eqn:Ko.
      1, 2: apply (asleep_supply own W E); auto; congruence.
      eapply Nat.le_trans; [apply Rd|].
      * intros h _ K. unfold keeps in K. apply orb_true_iff in K. destruct K as [K|]; auto.
        apply Nat.eqb_eq in K. now subst.
      * apply cnt_le. intros x _ U. now rewrite U.
  - (* By hypothesis. *)
    pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite E in Pc. destruct Pc as [H [_ St]].
    assert (Sf : forall n, sbf_of n = sbf (N.to_nat (budget own)) (N.to_nat (period own)) (N.to_nat W) n).
    { intros n. unfold sbf_of, supplyN. now rewrite E, sbfN_ok, Nat2N.id. }
    rewrite Sf. destruct (Nat.eq_dec w 0) as [->|W0].
    { unfold place_ok in Pl. rewrite E, !andb_true_iff in Pl. destruct Pl as [_ [So _]].
      unfold soundN in So. rewrite !andb_true_iff, N.ltb_lt, !N.leb_le in So.
      unfold sbf, stair. simpl. rewrite Nat.div_0_l, Nat.mod_0_l, Nat.min_0_r by lia. lia. }
    apply H. destruct (Bu t0 ltac:(lia)) as [h [k [_ Q]]]. apply kept_pending in Q. destruct Q as [_ [R _]].
    pose proof (v_jitter _ _ _ _ _ _ _ Va h k). specialize (St h k). lia.
  - unfold is_background in Ba. rewrite E in Ba. discriminate.
Qed.

(* What task [h] above executes, as the check counts it. *)
Definition work known h w := match jitter_of known h (task_of v h) with
  | Some j => ceil (w + N.to_nat j) (tT v h) * tC v h
  | None => 0
  end.

Lemma streams_sum known i ss w : last_of v i < length (tasks v) ->
  streams known i 0 (firstn (S (last_of v i)) (tasks v)) (gammas_of v i) = Some ss ->
  N.to_nat (sumN (one_stream w) ss)
  = sum (fun h => if h =? i then 0 else work known h (N.to_nat w)) (S (last_of v i))
    + reloading (tT v) (tJ v) i (last_of v i) (gamma v i) (N.to_nat w) /\
  forall h, h <= last_of v i -> h <> i -> exists j, jitter_of known h (task_of v h) = Some j.
Proof.
  intros I E. set (m := last_of v i) in *.
  assert (Li : length (firstn (S m) (tasks v)) = S m) by (rewrite firstn_length; lia).
  assert (Lg : length (gammas_of v i) = S m).
  { unfold gammas_of, gammas_with. rewrite gammas_length, firstn_length. fold m. lia. }
  destruct (streams_ok known i _ 0 _ ss (1, 0, 0)%N E) as [L F]; [lia|]. rewrite Li in *.
  assert (G : forall h, h < S m -> nth h (firstn (S m) (tasks v)) no_task = task_of v h).
  { intros h Lh. unfold task_of. now apply nth_firstn. }
  split.
  - rewrite (sumN_ok _ _ (1, 0, 0)%N), L. unfold reloading. rewrite <- sum_plus. apply sum_eq.
    intros h Lh. pose proof (F h Lh) as Fh. rewrite Nat.add_0_l in Fh. destruct (h =? i).
    { rewrite Fh. unfold one_stream. now rewrite N.mul_0_r. }
    destruct Fh as [j [E1 [E2 E3]]]. rewrite G in * by auto.
    rewrite E1. unfold one_stream, work. rewrite E2, N2Nat.inj_mul, ceilN_ok, !N2Nat.inj_add.
    fold (tC v h) (tT v h) (gamma v i h). rewrite Nat.mul_add_distr_l. f_equal.
    destruct E3 as [E3|E3].
    + unfold jitter_of in E2. rewrite E3 in E2. injection E2 as <-. reflexivity.
    + unfold gamma. rewrite E3. simpl. lia.
  - intros h Lh Nh. pose proof (F h ltac:(lia)) as Fh. rewrite Nat.add_0_l in Fh.
    destruct (Nat.eqb_spec h i); [lia|]. destruct Fh as [j [_ [E2 _]]]. rewrite G in E2 by lia. eauto.
Qed.

(* Waiting for memory. *)
Lemma above_ok i h ts : forall gs w, length ts <= length gs ->
  N.to_nat (accesses_above i h ts gs w) = sum (fun x => if h + x =? i then 0
    else ceil (N.to_nat w + N.to_nat (jitter (nth x ts no_task))) (N.to_nat (every (nth x ts no_task)))
         * N.to_nat (counted_of (nth x ts no_task) + nth x gs 0)%N) (length ts).
Proof.
  assert (Sh : forall g n, sum g (S n) = g 0 + sum (fun h => g (S h)) n).
  { intros g n. induction n; simpl in *; lia. }
  revert h. induction ts as [|t ts IH]; intros h gs w L; [reflexivity|].
  destruct gs as [|g gs]; [simpl in L; lia|]. cbn [accesses_above length]. rewrite Sh, N2Nat.inj_add, IH by (simpl in L; lia).
  rewrite Nat.add_0_r. f_equal.
  - destruct (Nat.eqb h i); auto. now rewrite N2Nat.inj_mul, ceilN_ok, N2Nat.inj_add.
  - apply sum_eq. intros x X. now replace (h + S x) with (S h + x) by lia.
Qed.

Lemma own_waits_ok i j q w : last_of v i < length (tasks v) ->
  own_waits (tT v) (tJ v) i (last_of v i) (waits_of v i j) (waits_early v i j) q w
  = N.to_nat (wait (nth j (interferers v) no_interferer) * accesses_in v i (N.of_nat q) (N.of_nat w))%N.
Proof.
  intros I. unfold own_waits, accesses_in, waits_early. set (k := wait _).
  rewrite !N.mul_add_distr_l, !N2Nat.inj_add. f_equal; [f_equal|].
  - unfold waits_of, wait_of. rewrite Nat.eqb_refl, N.add_0_r. fold k.
    rewrite !N2Nat.inj_mul. replace (N.to_nat (N.of_nat q + 1)) with (S q) by lia. lia.
  - rewrite N2Nat.inj_mul. rewrite above_ok.
    2: { unfold gammas_with. now rewrite gammas_length. }
    assert (Li : length (firstn (S (last_of v i)) (tasks v)) = S (last_of v i)) by (rewrite firstn_length; lia).
    assert (M : forall f n, N.to_nat k * sum f n = sum (fun h => N.to_nat k * f h) n).
    { intros f n. induction n; simpl; lia. }
    rewrite M, Li. apply sum_eq. intros h Lh. rewrite Nat.add_0_l. unfold waits_of, wait_of. fold k.
    destruct (Nat.eqb_spec h i) as [->|]; [lia|]. rewrite nth_firstn by lia. fold (task_of v h).
    unfold jobs, tT, tJ. rewrite Nat2N.id, N2Nat.inj_mul. lia.
Qed.

Lemma last_ge i : i <= last_of v i.
Proof. unfold last_of. lia. Qed.

Lemma waits_ok i j t0 w a q : last_of v i < length (tasks v) ->
  forallb (fun it => known_accesses v i || has_limits it) (interferers v) = true -> j < length (interferers v) -> waits_little v r i j ->
  window_of v r i t0 w -> turns_of v r i a q t0 w ->
  cnt (waits r j) t0 w
  <= N.to_nat (waitN v i (N.of_nat q) (N.of_nat w) (nth j (interferers v) no_interferer)).
Proof.
  intros I Me Lj [Ow Li] B Tu. set (it := nth j (interferers v) no_interferer) in *.
  assert (Im : In it (interferers v)) by now apply nth_In.
  assert (O : known_accesses v i = true -> cnt (waits r j) t0 w
    <= N.to_nat (wait it * accesses_in v i (N.of_nat q) (N.of_nat w))%N).
  { intros K. unfold it. rewrite <- (own_waits_ok i j q w I).
    apply (own_le _ _ _ _ _ _ _ i (last_of v i) (kept_valid i) (last_ge i) (waits r j) (whose r i j) _ (early_one r i j)) with (a := a); auto. }
  assert (Cu : forall ls, limits it = Some ls -> cnt (waits r j) t0 w
    <= N.to_nat (sumN (fun l => staircaseN l (N.of_nat w)) ls)).
  { intros ls E. fold it in Li. rewrite E in Li. destruct Li as [Sl Ex].
    rewrite (sumN_ok _ _ no_limit).
    pose (of := fun c x => existsb (fun p => causes r j c p x) (seq 0 (S x))).
    assert (Sp : forall c, c < length ls -> 0 < N.to_nat (span (nth c ls no_limit))).
    { intros c Lc. unfold limits_ok in Lr. rewrite forallb_forall in Lr. specialize (Lr it Im). rewrite E in Lr.
      rewrite forallb_forall in Lr. specialize (Lr _ (nth_In ls no_limit Lc)). apply N.ltb_lt in Lr. lia. }
    eapply Nat.le_trans; [apply split with (f := of) (N := length ls)|].
    - intros x _ W. destruct (Ex x W) as [c [p [Lc Ca]]]. exists c. split; auto.
      apply existsb_exists. exists p. split; auto. apply in_seq.
      destruct (proj1 (Sl c Lc) p x Ca) as [R1 _]. unfold Supply.begin in R1. specialize (Sp c Lc).
      assert (p * 1 <= p * N.to_nat (span (nth c ls no_limit))) by (apply Nat.mul_le_mono_l; lia). lia.
    - apply sum_ext. intros c Lc. rewrite staircaseN_ok, Nat2N.id.
      apply source_le with (first := epoch r j c) (by_period := causes r j c); auto.
      + apply Sl; auto.
      + intros x _ F. apply existsb_exists in F. destruct F as [p [_ F]]. eauto. }
  unfold waitN. rewrite forallb_forall in Me. specialize (Me it Im).
  unfold has_limits in Me. destruct (known_accesses v i) eqn:K; destruct (limits it) as [ls|] eqn:E; try discriminate; auto.
  rewrite N2Nat.inj_min. apply Nat.min_glb; auto.
Qed.

Lemma memory_le i t0 w a q : last_of v i < length (tasks v) -> memory_ok v i = true ->
  (forall j, j < length (interferers v) -> waits_little v r i j) ->
  window_of v r i t0 w -> turns_of v r i a q t0 w ->
  cnt (waiting v r) t0 w <= N.to_nat (memoryN v i (N.of_nat q) (N.of_nat w)).
Proof.
  intros I Me Wl B Tu. unfold memoryN. rewrite (sumN_ok _ _ no_interferer).
  eapply Nat.le_trans; [apply split with (f := waits r) (N := length (interferers v))|].
  - intros x _ W. apply existsb_exists in W. destruct W as [j [Lj W]]. apply in_seq in Lj. exists j. split; auto. lia.
  - apply sum_ext. intros j Lj. apply (waits_ok i j t0 w a q); auto.
    unfold memory_ok, no_memory in Me. destruct (interferers v); [simpl in Lj; lia|].
    apply andb_true_iff in Me. tauto.
Qed.

(* Suspensions of the task itself: of the jobs that have their turn. *)
Lemma asleep_le i t0 w a q : turns_of v r i a q t0 w -> cnt (own_asleep r i) t0 w <= S q * tS v i.
Proof.
  intros Tu. rewrite <- sum_const.
  eapply Nat.le_trans; [apply split with (f := fun d => susp r i (a + d)) (N := S q)|].
  - intros x X A. apply existsb_exists in A. destruct A as [k [_ A]].
    destruct (s_first _ _ _ _ _ Su _ _ _ A) as [R [N P]].
    assert (T : turn (rel r) (kept_needs v r i) (kept_sched v r i) i k x).
    { split; auto. split; [|intros k' L].
      - intros F. apply N. apply (kept_complete i); auto. apply keeps_own.
      - apply kept_complete; auto. apply keeps_own. }
    pose proof (Tu k x X T). exists (k - a). split; [lia|]. now replace (a + (k - a)) with k by lia.
  - apply sum_ext. intros. apply (s_length _ _ _ _ _ Su).
Qed.

(* A task above executes no more than the check counts: a prompt one in windows that begin when it is quiet. *)
Lemma sleeper_le known h j : (forall h R, known h = Some R -> done h R) ->
  promptly (task_of v h) = false -> jitter_of known h (task_of v h) = Some j ->
  forall t0 w, cnt (runs_task (sched r) h) t0 w <= work known h w.
Proof.
  intros Kn Ph Jh t0 w. unfold work. rewrite Jh. unfold jitter_of in Jh. rewrite Ph in Jh.
  destruct (known h) as [R|] eqn:Kh; [|discriminate].
  destruct ((wcet (task_of v h) <=? R)%N && (wcet (task_of v h) <=? every (task_of v h))%N) eqn:Q; [|discriminate].
  injection Jh as <-. rewrite andb_true_iff, !N.leb_le in Q. rewrite N2Nat.inj_sub.
  apply (suspending_le _ _ _ _ _ _ _ Va h (N.to_nat R)); unfold tC, tT; try lia.
  apply (Kn h R Kh).
Qed.

(* What is lost for the run without tasks that suspend themselves. *)
Definition sleepers known i w := sum (fun h => if keeps v i h then 0 else work known h w) (S (last_of v i)).

Lemma kept_loses known i : last_of v i < length (tasks v) -> memory_ok v i = true -> is_background v = false ->
  (forall h R, known h = Some R -> done h R) ->
  (forall h, h <= last_of v i -> h <> i -> exists j, jitter_of known h (task_of v h) = Some j) ->
  loses_little v r i -> memory_obeys v r i ->
  loses_at_most (rel r) (kept_needs v r i) (kept_sched v r i) (supplied v r i) (last_of v i) i
    (fun q w => may_lose v i q w + N.to_nat (memoryN v i (N.of_nat q) (N.of_nat w)) + S q * tS v i + sleepers known i w).
Proof.
  intros I Me Ba Kn Ji Lo Mo t0 w a q B Tu. unfold loses_little in Lo. rewrite Ba in Lo. set (m := last_of v i) in *.
  pose (others := fun x => existsb (fun h => negb (keeps v i h) && runs_task (sched r) h x) (seq 0 (S m))).
  assert (X : cnt (lost (kept_sched v r i) (supplied v r i) m) t0 w
    <= cnt (fun x => (lost_of v r i x || others x) || (waiting v r x || own_asleep r i x)) t0 w).
  { apply cnt_le. intros x _ L. rewrite !orb_true_iff. unfold lost_of. fold m.
    destruct (waiting v r x); [auto|]. destruct (own_asleep r i x); [auto|]. left. rewrite !andb_true_r.
    unfold lost in *. apply andb_true_iff in L. destruct L as [L1 L2]. rewrite L1. simpl.
    unfold runs_down_to, kept_sched in *. destruct (sched r x) as [[h k]|] eqn:F; [|now left].
    destruct (h <=? m) eqn:Lh; [|now left]. right. apply Nat.leb_le in Lh.
    apply existsb_exists. exists h. split; [apply in_seq; lia|].
    destruct (keeps v i h) eqn:K.
    - exfalso. apply Nat.leb_le in Lh. rewrite Lh in L2. discriminate.
    - simpl. unfold runs_task. rewrite F. apply Nat.eqb_refl. }
  pose proof (cnt_or (fun x => lost_of v r i x || others x) (fun x => waiting v r x || own_asleep r i x) t0 w) as O1.
  cbv beta in O1. pose proof (cnt_or (lost_of v r i) others t0 w). pose proof (cnt_or (waiting v r) (own_asleep r i) t0 w).
  pose proof (Lo t0 w a q B Tu). pose proof (memory_le i t0 w a q I Me (Mo Ba) B Tu). pose proof (asleep_le i t0 w a q Tu).
  assert (cnt others t0 w <= sleepers known i w).
  { eapply Nat.le_trans; [apply split with (f := fun h x => negb (keeps v i h) && runs_task (sched r) h x) (N := S m)|].
    - intros x _ A. apply existsb_exists in A. destruct A as [h [In A]]. apply in_seq in In. exists h. split; auto. lia.
    - apply sum_ext. intros h Hh. destruct (keeps v i h) eqn:K; simpl.
      + rewrite cnt_none; auto.
      + assert (h <> i) by (intros ->; rewrite keeps_own in K; discriminate).
        destruct (Ji h ltac:(lia) ltac:(auto)) as [j Jh]. apply (sleeper_le known h j); auto.
        unfold keeps in K. apply orb_false_iff in K. tauto. }
  lia.
Qed.

Lemma work_split known i w :
  (forall h, h <= last_of v i -> h <> i -> exists j, jitter_of known h (task_of v h) = Some j) ->
  sum (fun h => if h =? i then 0 else work known h w) (S (last_of v i))
  = others (kept_wcet i) (tT v) (tJ v) i (last_of v i) w + sleepers known i w.
Proof.
  intros Ji. unfold others, sleepers. rewrite <- sum_plus. apply sum_eq. intros h Lh.
  destruct (Nat.eqb_spec h i) as [->|Nh]; [rewrite keeps_own; lia|].
  unfold kept_wcet. destruct (keeps v i h) eqn:K; [|lia].
  assert (P : promptly (task_of v h) = true).
  { unfold keeps in K. apply orb_true_iff in K. destruct K as [K|]; auto. apply Nat.eqb_eq in K. lia. }
  unfold work, jitter_of. rewrite P. unfold jobs, tJ. lia.
Qed.

Lemma bound_sound known b : (forall h R, known h = Some R -> done h R) ->
  bound_ok v known b = true -> done (of b) (response b).
Proof.
  intros Kn Bo. unfold bound_ok in Bo. set (i := of b) in *.
  apply andb_true_iff in Bo. destruct Bo as [Bo St]. apply andb_true_iff in Bo. destruct Bo as [I Cl].
  apply Nat.ltb_lt in I. set (m := last_of v i) in *. pose proof (last_ge i) as Lm. fold m in Lm.
  destruct (streams known i 0 (firstn (S m) (tasks v)) (gammas_of v i)) as [ss|] eqn:E; [|discriminate].
  destruct (windows_sound _ _ _ _ _ _ _ 0 St) as [W1 [W2 [_ [W4 W5]]]].
  set (n := 0 + length (windows b) - 1) in *.
  destruct (proj2 (proj2 (proj2 Ob)) i ltac:(lia)) as [Lo Mo].
  assert (Sb : forall w, sbf_of (N.to_nat w) = N.to_nat (supplyN v w)).
  { intros w. unfold sbf_of. now rewrite N2Nat.id. }
  assert (Ji : forall h, h <= m -> h <> i -> exists j, jitter_of known h (task_of v h) = Some j).
  { apply (streams_sum known i ss 0 I E). }
  assert (Ws : forall q w, N.to_nat (base v ss i (N.of_nat q) w)
      + S q * N.to_nat (need (task_of v i)) <= N.to_nat (supplyN v w) ->
    sum (fun h => if h =? i then 0 else work known h (N.to_nat w)) (S m)
    + may_lose v i q (N.to_nat w)
    + (if is_background v then N.to_nat (late v)
         + sum (fun h => Servers.takes (server_of v r h) (N.to_nat w)) (length (above v))
       else N.to_nat (memoryN v i (N.of_nat q) w))
    + S q * (tC v i + tS v i) <= sbf_of (N.to_nat w)).
  { intros q w L. rewrite Sb. eapply Nat.le_trans; [|exact L]. unfold base, need, may_lose, tC, tS.
    rewrite <- takes_ok. pose proof (overheads_ok w) as O.
    destruct (streams_sum known i ss w I E) as [X _]. fold m in X |- *.
    rewrite !N2Nat.inj_add in *. destruct (promptly (task_of v i)), (is_background v);
      rewrite ?N2Nat.inj_add; simpl N.to_nat; nia. }
  destruct (is_background v) eqn:Ba.
  - (* [Below.response_below] *)
    assert (Em : m = i).
    { unfold class_ok in Cl. rewrite Ba, !andb_true_iff in Cl. destruct Cl as [[[Cl _] _] _]. now apply Nat.eqb_eq. }
    rewrite Em in *.
    assert (Si : forall w, sum (fun h => if h =? i then 0 else work known h w) (S i) = sum (fun h => work known h w) i).
    { intros w. cbn [sum]. rewrite Nat.eqb_refl, Nat.add_0_r. apply sum_eq. intros h Lh.
      destruct (Nat.eqb_spec h i); lia. }
    unfold loses_little in Lo. rewrite Ba in Lo.
    intros k. apply (response_below (tC v) (tT v) (tJ v) (tS v) _ _ _ _ (supplied v r i) _
      (top v r) (topwants v r) i Va Su
      (fun w => N.to_nat (late v) + sum (fun h => Servers.takes (server_of v r h) w) (length (above v)))
      sbf_of) with (extra := may_lose v i) (work := work known) (n := n)
      (ws := fun q => N.to_nat (nth (q - 0) (windows b) 0%N)); auto.
    + (* Servers above. *)
      intros t0 w C Need. unfold top. unfold topwants in C. rewrite Ba. rewrite Ba in C.
      pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc.
      unfold is_background in Ba. destruct (at_place v); try discriminate.
      destruct Pc as [Fo La].
      assert (Ca : forall h, h < own_number v -> Servers.calm (server_of v r h) (does r h) t0).
      { intros h Lh. destruct C as [->|C]; [now left|right].
        destruct (Servers.wants _ _ _) eqn:Wn; auto. rewrite <- C. symmetry. apply existsb_exists.
        exists h. split; auto. apply in_seq. unfold own_number in *. lia. }
      apply Servers.taken_le; auto.
      * intros h Lh. apply servers_sound. auto.
      * apply (La i t0 w Ca Need).
    + (* The supply: all slots. *)
      intros t0 w _. unfold supplied. unfold is_background in Ba.
      destruct (at_place v) eqn:Ep; try discriminate. rewrite cnt_all by auto.
      unfold sbf_of, supplyN. rewrite Ep, Nat2N.id. auto.
    + (* Tasks above. *)
      intros h Lh. destruct (Ji h ltac:(lia) ltac:(lia)) as [j Jh].
      destruct (promptly (task_of v h)) eqn:Ph.
      * unfold work. rewrite Jh. unfold jitter_of in Jh. rewrite Ph in Jh. injection Jh as <-.
        apply (prompt_le _ _ _ _ _ _ _ _ _ _ _ Va Su); auto. now apply prompt_zero.
      * intros t0 w _. apply (sleeper_le known h j); auto.
    + intros q Lq. specialize (Ws q _ (W1 q ltac:(lia))). rewrite Si in Ws. unfold demand_below. lia.
    + intros q Lq. apply W2. lia.
  - (* [Tasks.response] *)
    assert (Me : memory_ok v i = true).
    { unfold class_ok in Cl. rewrite Ba, !andb_true_iff in Cl. tauto. }
    intros k. apply (kept_complete i); [apply keeps_own|].
    apply (Tasks.response (kept_wcet i) (tT v) (tJ v) _ _ _ _ _ (kept_valid i) sbf_of i m _ n
      (fun q => N.to_nat (nth (q - 0) (windows b) 0%N)) _ Lm (kept_supply i I Ba Cl) (kept_loses known i I Me Ba Kn Ji Lo Mo)); auto.
    + intros q Lq. specialize (Ws q _ (W1 q ltac:(lia))).
      rewrite (work_split known i _ Ji) in Ws. unfold demand. rewrite N2Nat.id.
      assert (Ow : kept_wcet i i = tC v i) by (unfold kept_wcet; now rewrite keeps_own).
      rewrite Ow. fold m in Ws. lia.
    + intros q Lq. apply W2. lia.
Qed.

Lemma bounds_sound bs : forall known, (forall h R, known h = Some R -> done h R) ->
  bounds_ok v known bs = true -> forall b, In b bs -> done (of b) (response b).
Proof.
  induction bs as [|b bs IH]; intros known Kn Bo b' I; [destruct I|].
  cbn [bounds_ok] in Bo. apply andb_true_iff in Bo. destruct Bo as [B1 B2].
  pose proof (bound_sound known b Kn B1) as D. destruct I as [<-|I]; auto.
  apply (IH (learn known b)); auto. intros h R. unfold learn.
  destruct (h =? of b) eqn:Eh; [|apply Kn]. apply Nat.eqb_eq in Eh. subst. intros Q.
  injection Q as <-. exact D.
Qed.
End Certified.

(* WHAT A CERTIFICATE SAYS. If the check succeeds, then in every run that obeys the parameters every
   job of the task is complete when [response] slots have passed since its arrival. *)
Theorem certified v bs : check v bs = true -> forall b, In b bs -> forall r, obeys v r ->
  forall k, complete (needs r) (sched r) (of b) k (arr r (of b) k + N.to_nat (response b)).
Proof.
  unfold check. rewrite !andb_true_iff. intros [[[[P _] S] L] B] b I r O.
  apply (bounds_sound v r O P L bs (fun _ => None)); auto. discriminate.
Qed.

(* The same for one task: it is never later than [R]. *)
Definition safe v i R := forall r, obeys v r ->
  forall k, complete (needs r) (sched r) i k (arr r i k + N.to_nat R).

(* One of the bounds is at most [R]. *)
Definition is_in (bs : list bound) i R :=
  existsb (fun b => Nat.eqb (of b) i && N.leb (response b) R) bs.

Corollary safe_by v bs i R : check v bs = true -> is_in bs i R = true -> safe v i R.
Proof.
  intros C I r O k. apply existsb_exists in I. destruct I as [b [I E]].
  apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.eqb_eq in E1. apply N.leb_le in E2.
  subst. apply complete_mono with (t := arr r (of b) k + N.to_nat (response b)); [lia|].
  apply (certified v bs C b I r O).
Qed.
