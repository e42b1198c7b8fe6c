(* Certificates: bounds for the tasks of one VCPU, which Coq checks by computation.

   A certificate is a [vcpu], its parameters, and a list of [bound]s, each with the windows that lead
   to it. [check] computes with binary numbers. [certified] says what a successful check means: no
   job takes longer than its bound, in any course of events ([run]) that obeys the parameters
   ([obeys]). *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Tasks Losses Supply Below.
From Bulkhead Require Servers.
Import ListNotations.

Open Scope N_scope.

(* A task. Times are in slots. [colors]: the colours of its cache lines, bit by bit. *)
Record task := { wcet : N; every : N; jitter : N; blocking : N; suspension : N; colors : N }.

(* The server of a VCPU. [counted]: the budget that those below count, at least [budget]. *)
Record server := { kind : Servers.kind; budget : N; counted : N; period : N }.

(* Events of the hypervisor: each takes [cost] slots of the VCPU. *)
Record source := { cost : N; spacing : N; early : N }.

Inductive place :=
  | Whole                                       (* a PCPU of its own *)
  | Served (own : server) (W : N)               (* a server, which gets its budget within [W] *)
  | Background.                                 (* what those above leave *)

Record vcpu := {
  above : list server;                          (* the servers above on the PCPU, the highest first *)
  at_place : place;
  late : N;                                     (* slots without service, once in a busy window *)
  tasks : list task;                            (* the highest priority first *)
  reload : N;                                   (* slots in which a colour is loaded again *)
  sources : list source;
  once : N }.                                   (* slots of the hypervisor, once in a busy window *)

(* A bound for the task with this number, and a window for each job of its busy window. *)
Record bound := { of : nat; response : N; windows : list N }.

(** * The check *)

Definition ceilN a b := (a + b - 1) / b.
Fixpoint sumN {A} (f : A -> N) (l : list A) : N :=
  match l with nil => 0 | x :: r => f x + sumN f r end.

Definition no_task := {| wcet := 0; every := 1; jitter := 0; blocking := 0; suspension := 0; colors := 0 |}.
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
  | Background => true
  end.

Definition sbfN B T W w := let r := w - ((T - B) + (W - B)) in r / T * B + N.min B (r mod T).
Definition supplyN v w :=
  match at_place v with Served own W => sbfN (budget own) (period own) W w | _ => w end.

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
Definition gammas_of v i := fst (gammas (reload v) (firstn (S i) (tasks v))).

Definition promptly t := suspension t =? 0.
Definition is_background v := match at_place v with Background => true | _ => false end.

(* Tasks of a VCPU with a server or a PCPU of its own, down to which none suspends itself. *)
Definition plain v i := negb (is_background v) && forallb promptly (firstn (S i) (tasks v)).

(* A task above as its bound permits it to interfere. *)
Definition jitter_of (known : nat -> option N) h t :=
  if promptly t then Some (jitter t)
  else match known h with
       | Some R => if (wcet t <=? R) && (wcet t <=? every t) then Some (R - wcet t) else None
       | None => None
       end.

Fixpoint streams known h (ts : list task) (gs : list N) : option (list (N * N * N)) :=
  match ts, gs with
  | t :: ts, g :: gs =>
      match jitter_of known h t, streams known (S h) ts gs with
      | Some j, Some rest =>
          if promptly t || (g =? 0) then Some ((every t, j, wcet t + g) :: rest) else None
      | _, _ => None
      end
  | _, _ => Some nil
  end.

Definition one_stream (w : N) (s : N * N * N) := let '(t, j, c) := s in ceilN (w + j) t * c.
Definition one_source w s := ceilN (w + early s) (spacing s) * cost s.

(* What does not depend on the number of own jobs. *)
Definition base v (ss : list (N * N * N)) i w :=
  sumN (one_stream w) ss + (once v + sumN (one_source w) (sources v)) +
  (if plain v i then blocking (task_of v i)
   else if is_background v then late v + sumN (fun s => takesN s w) (above v) else 0).

Fixpoint windows_ok (base supply : N -> N) (c j t R q : N) (ws : list N) : bool :=
  match ws with
  | nil => false
  | w :: rest => (base w + (q + 1) * c <=? supply w) && (w + j <=? R + q * t)
      && match rest with
         | nil => (0 <? w) && (w + j <=? (q + 1) * t)
         | _ => windows_ok base supply c j t R (q + 1) rest
         end
  end.

(* [response_below] is about preemptive tasks; and a sporadic server replenishes later when its VCPU
   sleeps. *)
Definition class_ok v i := plain v i ||
  forallb (fun t => blocking t =? 0) (firstn (S i) (tasks v)) &&
  match at_place v with
  | Served own _ =>
      match kind own with Servers.Sporadic => promptly (task_of v i) | _ => true end
  | _ => true
  end.

Definition bound_ok v known b :=
  let i := of b in
  let t := task_of v i in
  (Nat.ltb i (length (tasks v))) && class_ok v i &&
  match streams known 0 (firstn i (tasks v)) (gammas_of v i) with
  | None => false
  | Some ss => windows_ok (base v ss i) (supplyN v) (wcet t + suspension t) (jitter t) (every t)
                 (response b) 0 (windows b)
  end.

Definition learn (known : nat -> option N) b h := if Nat.eqb h (of b) then Some (response b) else known h.

Fixpoint bounds_ok v known bs :=
  match bs with nil => true | b :: rest => bound_ok v known b && bounds_ok v (learn known b) rest end.

Definition sources_ok v := forallb (fun s => 0 <? spacing s) (sources v).
Definition tasks_ok v := forallb (fun t => 0 <? every t) (tasks v).

Definition check v bs := place_ok v && tasks_ok v && sources_ok v && bounds_ok v (fun _ => None) bs.

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
  unserved : nat -> bool }.                     (* slots that count for no budget *)

Section Obeys.
Variable v : vcpu.
Variable r : run.

Definition tC h := N.to_nat (wcet (task_of v h)).
Definition tT h := N.to_nat (every (task_of v h)).
Definition tJ h := N.to_nat (jitter (task_of v h)).
Definition tS h := N.to_nat (suspension (task_of v h)).

Definition own_number := length (above v).
Definition all_servers := above v ++ match at_place v with Served own _ => [own] | _ => [] end.
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
  | Background =>
      (forall h, h < own_number -> Servers.follows (server_of h) (does r h)) /\
      (forall h x, h < own_number -> Servers.wants (server_of h) (does r h) x = true ->
                   Servers.taken (does r) own_number (unserved r) x = true) /\
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
Definition may_lose i w :=
  (if plain v i then N.to_nat (blocking (task_of v i)) else 0)
  + reloading tT tJ i (gamma i) w + overheads w.

(* No more slots are lost than that: see [Losses.losses]. *)
Definition loses_little i :=
  if plain v i
  then loses_at_most (rel r) (needs r) (sched r) (supplied i) i (may_lose i)
  else loses_below (rel r) (needs r) (sched r) (supplied i) (susp r) top topwants i (may_lose i).

Definition obeys :=
  valid tC tT tJ (arr r) (rel r) (needs r) (sched r) /\
  suspends tS (rel r) (needs r) (sched r) (susp r) /\
  pcpu_obeys /\
  forall i, i < length (tasks v) -> loses_little i.
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

Lemma sbfN_ok B T W w :
  N.to_nat (sbfN B T W w) = sbf (N.to_nat B) (N.to_nat T) (N.to_nat W) (N.to_nat w).
Proof.
  unfold sbfN, sbf, stair. cbv zeta.
  now rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_min, N2Nat.inj_div, N2Nat.inj_mod,
    !N2Nat.inj_sub, N2Nat.inj_add, !N2Nat.inj_sub.
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

Lemma windows_sound (baseN supply : N -> N) c j t R ws : forall q,
  windows_ok baseN supply c j t R (N.of_nat q) ws = true ->
  let w := fun x => nth (x - q) ws 0%N in let n := q + length ws - 1 in
  (forall x, q <= x <= n ->
     N.to_nat (baseN (w x)) + S x * N.to_nat c <= N.to_nat (supply (w x))) /\
  (forall x, q <= x <= n -> N.to_nat (w x) + N.to_nat j <= N.to_nat R + x * N.to_nat t) /\
  q <= n /\ 0 < N.to_nat (w n) /\ N.to_nat (w n) + N.to_nat j <= S n * N.to_nat t.
Proof.
  induction ws as [|a rest IH]; [discriminate|]. intros q H. cbn [windows_ok] in H.
  apply andb_true_iff in H. destruct H as [H H3]. apply andb_true_iff in H. destruct H as [H1 H2].
  apply N.leb_le in H1, H2.
  assert (A1 : N.to_nat (baseN a) + S q * N.to_nat c <= N.to_nat (supply a)) by lia.
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

(* The interference of a task above, as the check counts it. *)
Lemma streams_ok known ts : forall h gs ss d,
  streams known h ts gs = Some ss -> length ts <= length gs -> length ss = length ts /\
  forall x, x < length ts -> exists j,
    nth x ss d = (every (nth x ts no_task), j, (wcet (nth x ts no_task) + nth x gs 0)%N) /\
    jitter_of known (h + x) (nth x ts no_task) = Some j /\
    (promptly (nth x ts no_task) = true \/ nth x gs 0%N = 0%N).
Proof.
  induction ts as [|t ts IH]; intros h gs ss d E L.
  - simpl in E. injection E as <-. split; auto. simpl. lia.
  - destruct gs as [|g gs]; [simpl in L; lia|]. cbn [streams] in E.
    destruct (jitter_of known h t) as [j|] eqn:J; [|discriminate].
    destruct (streams known (S h) ts gs) as [rest|] eqn:R; [|discriminate].
    destruct (promptly t || (g =? 0)%N) eqn:G; [|discriminate]. injection E as <-.
    destruct (IH (S h) gs rest d R) as [I1 I2]; [simpl in L; lia|]. split; [simpl; lia|].
    intros [|x] X.
    + exists j. rewrite Nat.add_0_r. simpl. repeat split; auto. apply orb_true_iff in G.
      destruct G as [|G]; auto. right. now apply N.eqb_eq.
    + simpl in X. destruct (I2 x ltac:(lia)) as [j' [Q1 [Q2 Q3]]]. exists j'. simpl.
      replace (h + S x) with (S h + x) by lia. auto.
Qed.

Section Certified.
Variable v : vcpu.
Variable r : run.
Hypothesis Ob : obeys v r.
Hypothesis Pl : place_ok v = true.
Hypothesis Sr : sources_ok v = true.

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

Lemma tasks_prompt i h : h <= i -> i < length (tasks v) ->
  forallb promptly (firstn (S i) (tasks v)) = true -> promptly (task_of v h) = true.
Proof.
  intros L I F. rewrite forallb_forall in F. apply F. unfold task_of.
  rewrite <- (nth_firstn (tasks v) (S i) h no_task) by lia. apply nth_In. rewrite firstn_length. lia.
Qed.

Lemma prompt_zero h : promptly (task_of v h) = true -> tS v h = 0.
Proof. unfold promptly, tS. rewrite N.eqb_eq. intros ->. reflexivity. Qed.

Let Va : valid _ _ _ _ _ _ _ := proj1 Ob.
Let Su : suspends _ _ _ _ _ := proj1 (proj2 Ob).

(* A pending job of a task that never suspends itself means that some job could execute. *)
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

Lemma started h k x : pending (rel r) (needs r) (sched r) h k x -> starts r (own_number v) <= x.
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

Lemma plain_supply i : i < length (tasks v) -> plain v i = true ->
  respects_sbf (rel r) (needs r) (sched r) (supplied v r i) i sbf_of.
Proof.
  intros I Pn t0 w Bu. unfold supplied. destruct (at_place v) as [|own W|] eqn:E.
  - rewrite cnt_all by auto. unfold sbf_of, supplyN. rewrite E, Nat2N.id. auto.
  - rewrite Pn, (sbf_of_served own W w E). apply (ready_supply own W E).
    + intros P. destruct (Bu t0 ltac:(lia)) as [h [k [_ Q]]]. eapply started; eauto.
    + intros x X. destruct (Bu x X) as [h [k [Lh Q]]].
      unfold plain in Pn. apply andb_true_iff in Pn. destruct Pn as [_ Pn].
      destruct (pending_eligible h k x) as [j El]; auto.
      { apply prompt_zero. apply (tasks_prompt i); auto. }
      pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite E in Pc.
      destruct Pc as [_ [_ [_ [_ [Rd _]]]]]. eapply Rd; eauto.
  - unfold plain, is_background in Pn. rewrite E in Pn. discriminate.
Qed.

Lemma below_supply i : i < length (tasks v) -> plain v i = false -> class_ok v i = true ->
  forall t0 w, (forall x, t0 <= x < t0 + w ->
    in_need (rel r) (needs r) (sched r) (susp r) (topwants v r) i x) ->
  sbf_of w <= cnt (supplied v r i) t0 w.
Proof.
  intros I Pn Cl t0 w Need. unfold supplied. destruct (at_place v) as [|own W|] eqn:E.
  - rewrite cnt_all by auto. unfold sbf_of, supplyN. rewrite E, Nat2N.id. auto.
  - rewrite Pn, (sbf_of_served own W w E).
    assert (NT : forall x, topwants v r x = false).
    { intros x. unfold topwants, is_background. now rewrite E. }
    assert (St : 0 < w -> starts r (own_number v) <= t0).
    { intros P. destruct (Need t0 ltac:(lia)) as [Q|[Q|[k Q]]]; [rewrite NT in Q; discriminate| |].
      - apply existsb_exists in Q. destruct Q as [h [_ Q]]. apply existsb_exists in Q.
        destruct Q as [k [_ Q]]. eapply started; eauto. eapply eligible_pending; eauto.
      - eapply started; eauto. }
    unfold class_ok in Cl. rewrite Pn, E in Cl. simpl in Cl. apply andb_true_iff in Cl.
    destruct Cl as [_ Cl]. destruct (kind own) eqn:K.
    1, 2: apply (asleep_supply own W E); auto; congruence.
    eapply Nat.le_trans; [apply (ready_supply own W E); auto|].
    + intros x X. pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc. rewrite E in Pc.
      destruct Pc as [_ [_ [_ [_ [Rd _]]]]].
      destruct (Need x X) as [Q|[Q|[k Q]]]; [rewrite NT in Q; discriminate| |].
      * apply existsb_exists in Q. destruct Q as [h [_ Q]]. apply existsb_exists in Q.
        destruct Q as [k [_ Q]]. eapply Rd; eauto.
      * destruct (pending_eligible i k x) as [j El]; auto; [now apply prompt_zero|]. eapply Rd; eauto.
    + apply cnt_le. intros x _ U. now rewrite U.
  - rewrite cnt_all by auto. unfold sbf_of, supplyN. rewrite E, Nat2N.id. auto.
Qed.

(* What task [h] above executes, as the check counts it. *)
Definition work known h w := match jitter_of known h (task_of v h) with
  | Some j => ceil (w + N.to_nat j) (tT v h) * tC v h
  | None => 0
  end.

Lemma streams_sum known i ss w : i < length (tasks v) ->
  streams known 0 (firstn i (tasks v)) (gammas_of v i) = Some ss ->
  N.to_nat (sumN (one_stream w) ss)
  = sum (fun h => work known h (N.to_nat w)) i + reloading (tT v) (tJ v) i (gamma v i) (N.to_nat w) /\
  forall h, h < i -> exists j, jitter_of known h (task_of v h) = Some j.
Proof.
  intros I E.
  assert (Li : length (firstn i (tasks v)) = i) by (rewrite firstn_length; lia).
  assert (Lg : length (gammas_of v i) = S i).
  { unfold gammas_of. rewrite gammas_length, firstn_length. lia. }
  destruct (streams_ok known _ 0 _ ss (1, 0, 0)%N E) as [L F]; [lia|]. rewrite Li in *.
  assert (G : forall h, h < i -> nth h (firstn i (tasks v)) no_task = task_of v h).
  { intros h Lh. unfold task_of. now apply nth_firstn. }
  split.
  - rewrite (sumN_ok _ _ (1, 0, 0)%N), L. unfold reloading. rewrite <- sum_plus. apply sum_eq.
    intros h Lh. destruct (F h Lh) as [j [E1 [E2 E3]]]. rewrite G in * by auto. rewrite Nat.add_0_l in E2.
    rewrite E1. unfold one_stream, work. rewrite E2, N2Nat.inj_mul, ceilN_ok, !N2Nat.inj_add.
    fold (tC v h) (tT v h) (gamma v i h). rewrite Nat.mul_add_distr_l. f_equal.
    destruct E3 as [E3|E3].
    + unfold jitter_of in E2. rewrite E3 in E2. injection E2 as <-. reflexivity.
    + unfold gamma. rewrite E3. simpl. lia.
  - intros h Lh. destruct (F h Lh) as [j [_ [E2 _]]]. rewrite G, Nat.add_0_l in E2 by auto. eauto.
Qed.

Lemma bound_sound known b : (forall h R, known h = Some R -> done h R) ->
  bound_ok v known b = true -> done (of b) (response b).
Proof.
  intros Kn Bo. unfold bound_ok in Bo. set (i := of b) in *.
  apply andb_true_iff in Bo. destruct Bo as [Bo St]. apply andb_true_iff in Bo. destruct Bo as [I Cl].
  apply Nat.ltb_lt in I.
  destruct (streams known 0 (firstn i (tasks v)) (gammas_of v i)) as [ss|] eqn:E; [|discriminate].
  destruct (windows_sound _ _ _ _ _ _ _ 0 St) as [W1 [W2 [_ [W4 W5]]]].
  set (n := 0 + length (windows b) - 1) in *.
  pose proof (proj2 (proj2 (proj2 Ob)) i I) as Lo. unfold loses_little in Lo.
  assert (Sb : forall w, sbf_of (N.to_nat w) = N.to_nat (supplyN v w)).
  { intros w. unfold sbf_of. now rewrite N2Nat.id. }
  assert (Ws : forall q w, N.to_nat (base v ss i w)
      + S q * N.to_nat (wcet (task_of v i) + suspension (task_of v i)) <= N.to_nat (supplyN v w) ->
    sum (fun h => work known h (N.to_nat w)) i
    + reloading (tT v) (tJ v) i (gamma v i) (N.to_nat w) + overheads v (N.to_nat w)
    + (if plain v i then N.to_nat (blocking (task_of v i))
       else if is_background v then N.to_nat (late v)
         + sum (fun h => Servers.takes (server_of v r h) (N.to_nat w)) (length (above v)) else 0)
    + S q * (tC v i + tS v i) <= sbf_of (N.to_nat w)).
  { intros q w L. rewrite Sb. eapply Nat.le_trans; [|exact L]. unfold base, tC, tS.
    rewrite <- takes_ok. pose proof (overheads_ok w) as O.
    destruct (streams_sum known i ss w I E) as [X _].
    rewrite !N2Nat.inj_add in *. destruct (plain v i), (is_background v);
      rewrite ?N2Nat.inj_add; simpl N.to_nat; lia. }
  destruct (plain v i) eqn:Pn.
  - (* [Tasks.response] *)
    assert (Pr : forall h, h <= i -> promptly (task_of v h) = true).
    { intros h Lh. unfold plain in Pn. apply andb_true_iff in Pn. apply (tasks_prompt i); tauto. }
    intros k. apply (Tasks.response (tC v) (tT v) (tJ v) _ _ _ _ _ Va sbf_of i (may_lose v i) n
      (fun q => N.to_nat (nth (q - 0) (windows b) 0%N)) _ (plain_supply i I Pn) Lo); auto.
    + intros q Lq. specialize (Ws q _ (W1 q ltac:(lia))).
      rewrite (prompt_zero i) in Ws by auto. unfold demand, may_lose. rewrite Pn.
      assert (Eq : sum (fun h => work known h (N.to_nat (nth (q - 0) (windows b) 0%N))) i
        = sum (fun h => jobs (tT v) (tJ v) h (N.to_nat (nth (q - 0) (windows b) 0%N)) * tC v h) i).
      { apply sum_eq. intros h Lh. unfold work, jitter_of. now rewrite Pr by lia. }
      rewrite Eq in Ws. lia.
    + intros q Lq. apply W2. lia.
  - (* [Below.response_below] *)
    intros k. apply (response_below (tC v) (tT v) (tJ v) (tS v) _ _ _ _ (supplied v r i) _
      (top v r) (topwants v r) i Va Su
      (fun w => if is_background v then N.to_nat (late v)
         + sum (fun h => Servers.takes (server_of v r h) w) (length (above v)) else 0)
      sbf_of) with (extra := may_lose v i) (work := work known) (n := n)
      (ws := fun q => N.to_nat (nth (q - 0) (windows b) 0%N)); auto.
    + (* Servers above. *)
      intros t0 w C Need. unfold top. unfold topwants in C. destruct (is_background v) eqn:Ba.
      2: { rewrite cnt_none; auto. }
      pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc.
      unfold is_background in Ba. destruct (at_place v); try discriminate.
      destruct Pc as [Fo [_ La]].
      assert (Ca : forall h, h < own_number v -> Servers.calm (server_of v r h) (does r h) t0).
      { intros h Lh. destruct C as [->|C]; [now left|right].
        destruct (Servers.wants _ _ _) eqn:Wn; auto. rewrite <- C. symmetry. apply existsb_exists.
        exists h. split; auto. apply in_seq. unfold own_number in *. lia. }
      apply Servers.taken_le; auto.
      * intros h Lh. apply servers_sound. auto.
      * apply (La i t0 w Ca Need).
    + intros x Wn. unfold top. unfold topwants in Wn. destruct (is_background v) eqn:Ba; [|discriminate].
      pose proof (proj1 (proj2 (proj2 Ob))) as Pc. unfold pcpu_obeys in Pc.
      unfold is_background in Ba. destruct (at_place v); try discriminate.
      destruct Pc as [_ [Or _]]. apply existsb_exists in Wn. destruct Wn as [h [In Wn]].
      apply in_seq in In. eapply Or; eauto. lia.
    + apply below_supply; auto.
    + (* Tasks above. *)
      intros h Lh. destruct (streams_sum known i ss 0 I E) as [_ X]. destruct (X h Lh) as [j Jh].
      unfold work. rewrite Jh. unfold jitter_of in Jh. destruct (promptly (task_of v h)) eqn:Ph.
      * injection Jh as <-. apply (prompt_le _ _ _ _ _ _ _ _ _ _ _ Va Su); auto.
        now apply prompt_zero.
      * destruct (known h) as [R|] eqn:Kh; [|discriminate].
        destruct ((wcet (task_of v h) <=? R)%N && (wcet (task_of v h) <=? every (task_of v h))%N) eqn:Q;
          [|discriminate].
        injection Jh as <-. rewrite andb_true_iff, !N.leb_le in Q.
        intros t0 w _. rewrite N2Nat.inj_sub.
        apply (suspending_le _ _ _ _ _ _ _ Va h (N.to_nat R)); unfold tC, tT; try lia.
        apply (Kn h R Kh).
    + intros q Lq. specialize (Ws q _ (W1 q ltac:(lia))). unfold demand_below, may_lose. rewrite Pn. lia.
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
  unfold check. rewrite !andb_true_iff. intros [[[P _] S] B] b I r O.
  apply (bounds_sound v r O P bs (fun _ => None)); auto. discriminate.
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
