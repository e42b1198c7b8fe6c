(* Tasks below others that suspend themselves, and VCPUs of the background.

   [Tasks.response] needs windows that begin when all tasks above are done. A task that suspends
   itself is seldom done, and a deferrable server can use two budgets in a row. But neither takes
   more than a known amount in any window: [suspending_le] is this for tasks (Chen, Nelissen and
   Huang, ECRTS 2016: the jitter [R - C]), and [Servers.any_window] for servers. [response_below], for
   VCPUs of the background, therefore begins windows when those above have nothing to execute, and
   counts the suspension of the task itself as its execution. *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting Tasks.

Section Below.
Variables C T J Susp : nat -> nat.              (* [Susp]: the longest suspension of a job *)
Variables arr rel cost : nat -> nat -> nat.
Variable sched : nat -> option (nat * nat).
Variable supply : nat -> bool.
Variable susp : nat -> nat -> nat -> bool.      (* in [x] job [k] of task [h] suspends itself *)
Variables top topwants : nat -> bool.           (* servers above take [x]; they want it *)
Variable i : nat.

Notation complete := (complete cost sched).
Notation pending := (pending rel cost sched).
Notation runs := (runs sched).
Notation runs_task := (runs_task sched).

Hypothesis V : valid C T J arr rel cost sched.

(* Jobs of a task are released in their order, and suspend themselves only while they would execute:
   each for [Susp] slots at most. *)
Record suspends : Prop := {
  s_order : forall h k, rel h k <= rel h (S k);
  s_first : forall h k x, susp h k x = true ->
    rel h k <= x /\ ~ complete h k x /\ forall j, j < k -> complete h j x;
  s_length : forall h k t w, cnt (susp h k) t w <= Susp h }.

Hypothesis Sp : suspends.

(* The job could execute. *)
Definition eligible h k x :=
  (rel h k <=? x) && negb (cost h k <=? service sched h k x) && negb (susp h k x)
  && forallb (fun j => cost h j <=? service sched h j x) (seq 0 k).
Definition some_eligible h x := existsb (fun k => eligible h k x) (seq 0 (S x)).
Definition above_eligible x := existsb (fun h => some_eligible h x) (seq 0 i).
Definition above_runs x := existsb (fun h => runs_task h x) (seq 0 i).
Definition own_suspended x := existsb (fun k => susp i k x) (seq 0 (S x)).

(* Task [i] has a job that is not complete, or a task or server above has something to execute. *)
Definition in_need x := topwants x = true \/ above_eligible x = true \/ exists k, pending i k x.

(* Those above have nothing to execute. *)
Definition nobody_above t :=
  t = 0 \/ (topwants (t - 1) = false /\ above_eligible (t - 1) = false).

(* Up to [x] a task or server above has had something to execute since the window began: if task [i] or a task below
   executes nevertheless, then in a section that began before, and that nothing interrupts. *)
Definition held t0 x := forallb (fun y => topwants y || above_eligible y) (seq t0 (S x - t0)).

(* There is supply, but no server above takes it, and no task above executes; and task [i] neither executes nor suspends
   itself, or only in such a section. *)
Definition lost_below t0 x := supply x && negb (top x) && negb (above_runs x)
  && (held t0 x || negb (runs_task i x || own_suspended x)).

(* After that, jobs of [i] that have their turn in the window are [q + 1] jobs from [a] on. *)
Definition turns_below a q t0 w := forall k x, t0 <= x < t0 + w -> held t0 x = false ->
  turn rel cost sched i k x -> a <= k <= a + q.

Definition loses_below (extra : nat -> nat -> nat) := forall t0 w a q, nobody_above t0 ->
  (forall x, t0 <= x < t0 + w -> in_need x) -> turns_below a q t0 w ->
  cnt (lost_below t0) t0 w <= extra q w.

(* What task [h] executes at most in a window that begins when those above have nothing to do. *)
Definition executes_at_most h (work : nat -> nat) := forall t0 w, nobody_above t0 ->
  cnt (runs_task h) t0 w <= work w.

Lemma completeb h k t : (cost h k <=? service sched h k t) = true <-> complete h k t.
Proof. apply Nat.leb_le. Qed.

Lemma later h k t u : t <= u -> complete h k t -> complete h k u.
Proof. apply complete_mono. Qed.

Lemma complete_dec h k t : {complete h k t} + {~ complete h k t}.
Proof. apply le_dec. Qed.

Lemma rel_mono h j k : j <= k -> rel h j <= rel h k.
Proof. induction 1; [lia|]. pose proof (s_order Sp h m). lia. Qed.

(* If a released job is not complete, the first such job could execute or suspends itself. *)
Lemma first_incomplete h k x : rel h k <= x -> ~ complete h k x ->
  exists j, j <= k /\ rel h j <= x /\ ~ complete h j x /\ (susp h j x = true \/ eligible h j x = true).
Proof.
  intros R N.
  destruct (least (fun j => ~ complete h j x)
    (fun j => match complete_dec h j x with left c => right (fun f => f c) | right c => left c end) k N)
    as [j [L [Nj F]]].
  pose proof (rel_mono h j k L). exists j. repeat split; auto; [lia|].
  destruct (susp h j x) eqn:E; [now left|right]. unfold eligible. rewrite E.
  rewrite !andb_true_iff. repeat split.
  - apply Nat.leb_le. lia.
  - apply negb_true_iff. destruct (_ <=? _) eqn:Q; auto. exfalso. apply Nj. now apply completeb.
  - apply forallb_forall. intros m M. apply in_seq in M. apply completeb.
    destruct (complete_dec h m x) as [|Q]; auto. exfalso. apply (F m); auto. lia.
Qed.

Lemma eligible_some h k x : eligible h k x = true -> some_eligible h x = true.
Proof.
  intros E. apply existsb_exists. exists k. split; auto. apply in_seq.
  unfold eligible in E. rewrite !andb_true_iff, Nat.leb_le in E. destruct E as [[[R _] _] _].
  pose proof (rel_ge _ _ _ _ _ _ _ V h k). lia.
Qed.

(* A task above that never suspends itself. *)
Lemma prompt_le h : h < i -> Susp h = 0 -> executes_at_most h (fun w => jobs T J h w * C h).
Proof.
  intros Hh Z t0 w Q.
  assert (NS : forall k x, susp h k x = false).
  { intros k x. destruct (susp h k x) eqn:E; auto. pose proof (s_length Sp h k x 1) as L.
    simpl in L. rewrite Nat.add_0_r, E in L. lia. }
  assert (D : forall k, rel h k < t0 -> complete h k t0).
  { intros k R. destruct (complete_dec h k t0) as [|N]; auto. exfalso.
    destruct Q as [->|[_ Q]]; [lia|].
    destruct (first_incomplete h k (t0 - 1)) as [j [_ [_ [_ [E|E]]]]]; [lia| | |].
    - intros F. apply N. apply (later h k (t0 - 1)); [lia|exact F].
    - rewrite NS in E. discriminate.
    - apply eligible_some in E. assert (above_eligible (t0 - 1) = true); [|congruence].
      apply existsb_exists. exists h. split; auto. apply in_seq. lia. }
  apply (per_job_le _ _ _ _ _ _ _ V h t0 w (jobs T J h w) _ (runs h)).
  - intros x X R. destruct (runs_task_sched _ _ _ R) as [k F]. exists k.
    destruct (v_runs _ _ _ _ _ _ _ V _ _ _ F) as [R1 [N _]].
    assert (t0 <= rel h k).
    { destruct (le_lt_dec t0 (rel h k)); auto. exfalso. apply N. apply (later h k t0); [lia|apply D; lia]. }
    split; [lia|]. unfold Tasks.runs. now rewrite F, !Nat.eqb_refl.
  - intros. eapply cnt_le_cost; eauto.
  - apply ceil_covers. apply (v_period _ _ _ _ _ _ _ V).
Qed.

(* A task above that suspends itself, with a bound [R] of its response time: in any window. *)
Lemma suspending_le h R : C h <= T h -> C h <= R -> (forall k, complete h k (arr h k + R)) ->
  forall t0 w, cnt (runs_task h) t0 w <= ceil (w + (R - C h)) (T h) * C h.
Proof.
  intros CT CR Re t0 w. pose proof (v_period _ _ _ _ _ _ _ V h) as P.
  destruct (Nat.eq_dec (cnt (runs_task h) t0 w) 0) as [->|Some]; [lia|].
  destruct (cnt_some (runs_task h) t0 w) as [x0 [X0 R0]]; [lia|].
  destruct (runs_task_sched _ _ _ R0) as [k0 F0].
  destruct (v_runs _ _ _ _ _ _ _ V _ _ _ F0) as [_ [N0 _]].
  assert (I0 : ~ complete h k0 t0) by (intros Q; apply N0; apply (later h k0 t0); [lia|exact Q]).
  destruct (least (fun j => ~ complete h j t0)
    (fun j => match complete_dec h j t0 with left c => right (fun f => f c) | right c => left c end) k0 I0)
    as [a [_ [Na Fa]]].
  (* The remaining part of job [a]. *)
  set (c := cost h a - service sched h a t0).
  assert (Hc : 0 < c) by (unfold c; unfold Tasks.complete in Na; lia).
  assert (cC : c <= C h) by (unfold c; pose proof (v_cost _ _ _ _ _ _ _ V h a); lia).
  assert (Ta : t0 + c <= arr h a + R).
  { pose proof (Re a) as Q. destruct (le_lt_dec (arr h a + R) t0) as [L|L].
    - exfalso. apply Na. apply (later h a (arr h a + R)); auto.
    - unfold Tasks.complete, service in Q. replace (arr h a + R) with (t0 + (arr h a + R - t0)) in Q by lia.
      rewrite cnt_add in Q. pose proof (cnt_max (runs h a) (0 + t0) (arr h a + R - t0)).
      unfold c, service. lia. }
  assert (Ca : cnt (runs h a) t0 w <= c).
  { pose proof (service_le _ _ _ _ _ _ _ V h a (t0 + w)) as Q. unfold service in Q.
    rewrite cnt_add, Nat.add_0_l in Q. unfold c, service. lia. }
  pose proof (ceil_covers (w + (R - C h)) (T h) P) as M. set (m := ceil (w + (R - C h)) (T h)) in *.
  assert (X : cnt (runs_task h) t0 w <= sum (fun d => cnt (runs h (a + d)) t0 w) (S m)).
  { apply split with (f := fun d => runs h (a + d)). intros x X Rx.
    destruct (runs_task_sched _ _ _ Rx) as [k F]. destruct (v_runs _ _ _ _ _ _ _ V _ _ _ F) as [Rk [Nk _]].
    assert (a <= k).
    { destruct (le_lt_dec a k); auto. exfalso. apply Nk. apply (later h k t0); [lia|].
      destruct (complete_dec h k t0) as [|Q]; auto. exfalso. apply (Fa k); auto. }
    pose proof (arrs _ _ _ _ _ _ _ V h a (k - a)) as A. replace (a + (k - a)) with k in A by lia.
    pose proof (v_jitter _ _ _ _ _ _ _ V h k).
    assert (k - a < S m).
    { destruct (le_lt_dec (S m) (k - a)) as [G|]; auto. exfalso.
      assert (S m * T h <= (k - a) * T h) by (apply Nat.mul_le_mono_r; lia). simpl in *. lia. }
    exists (k - a). split; auto. replace (a + (k - a)) with k by lia. unfold Tasks.runs.
    now rewrite F, !Nat.eqb_refl. }
  destruct m as [|m].
  { simpl in M. assert (w = 0) by lia. subst w. simpl in *. lia. }
  simpl in X.
  assert (L : cnt (runs h (a + S m)) t0 w <= C h - c).
  { pose proof (arrs _ _ _ _ _ _ _ V h a (S m)) as A. pose proof (v_jitter _ _ _ _ _ _ _ V h (a + S m)).
    assert (G : t0 + w <= rel h (a + S m) + (C h - c)) by lia.
    destruct (le_lt_dec w (C h - c)) as [Z|Z].
    - pose proof (cnt_max (runs h (a + S m)) t0 w). lia.
    - rewrite (cnt_sub _ _ (w - (C h - c)) w) by lia. rewrite cnt_none.
      + pose proof (cnt_max (runs h (a + S m)) (t0 + (w - (C h - c))) (w - (w - (C h - c)))). lia.
      + intros x Xx. destruct (runs h (a + S m) x) eqn:E; auto. apply runs_sched in E.
        destruct (v_runs _ _ _ _ _ _ _ V _ _ _ E) as [Rk _]. lia. }
  assert (Y : sum (fun d => cnt (runs h (a + d)) t0 w) (S m) <= c + m * C h).
  { clear X L M. induction m; simpl.
    - rewrite Nat.add_0_r. lia.
    - pose proof (cnt_le_cost _ _ _ _ _ _ _ V h (a + S m) t0 w). simpl in IHm. lia. }
  simpl in Y. lia.
Qed.

Variables topb sbf : nat -> nat.

(* What servers above take in a window that begins when they want nothing. *)
Hypothesis Top : forall t0 w, (t0 = 0 \/ topwants (t0 - 1) = false) ->
  (forall x, t0 <= x < t0 + w -> in_need x) -> cnt top t0 w <= topb w.
Hypothesis Topwants : forall x, topwants x = true -> top x = true.
Hypothesis Sbf : forall t w, (forall x, t <= x < t + w -> in_need x) -> sbf w <= cnt supply t w.

(* All released jobs of [i] are complete. *)
Definition own_quiet t := forall k, rel i k < t -> complete i k t.

Lemma own_quiet_dec t : own_quiet t \/ exists k, rel i k < t /\ ~ complete i k t.
Proof.
  destruct (Exists_dec (fun k => rel i k < t /\ ~ complete i k t) (seq 0 t)) as [E|E].
  - intros k. destruct (lt_dec (rel i k) t), (complete_dec i k t); (left; tauto) || (right; tauto).
  - right. apply Exists_exists in E. destruct E as [k [_ E]]. eauto.
  - left. intros k R. destruct (complete_dec i k t); auto. exfalso. apply E, Exists_exists.
    exists k. split; auto. apply in_seq. pose proof (rel_ge _ _ _ _ _ _ _ V i k). lia.
Qed.

Lemma last_own_quiet r : exists s, s <= r /\ own_quiet s /\ forall x, s < x <= r -> ~ own_quiet x.
Proof.
  induction r.
  - exists 0. repeat split; try lia. intros k H. lia.
  - destruct (own_quiet_dec (S r)) as [Q|[k [A B]]].
    + exists (S r). repeat split; auto. lia.
    + destruct IHr as [s [L [Q N]]]. exists s. repeat split; auto. intros x X QX.
      destruct (Nat.eq_dec x (S r)) as [->|]; [apply B, QX; auto|apply (N x); auto; lia].
Qed.

Lemma last_nobody s : exists t0, t0 <= s /\ nobody_above t0 /\
  forall x, t0 <= x < s -> topwants x = true \/ above_eligible x = true.
Proof.
  induction s.
  - exists 0. repeat split; auto; [now left|intros; lia].
  - destruct (topwants s) eqn:E1; [|destruct (above_eligible s) eqn:E2].
    3: { exists (S s). repeat split; auto; [|intros; lia]. right. now replace (S s - 1) with s by lia. }
    all: destruct IHs as [t0 [L [Q F]]]; exists t0; repeat split; auto; intros x X;
      destruct (Nat.eq_dec x s) as [->|]; [auto|apply F; lia].
Qed.

(* Slots that bring a job of [i] further, or in which it suspends itself. *)
Let own k x := runs i k x || susp i k x.

Definition demand_below extra (work : nat -> nat -> nat) q w :=
  topb w + sum (fun h => work h w) i + S q * (C i + Susp i) + extra q w.

Section Window.
(* A busy window: it begins at [t0], those above are busy until [s], and then [i] is. *)
Variables t0 s a k : nat.
Hypothesis T0 : t0 <= s.
Hypothesis Q0 : nobody_above t0.
Hypothesis F0 : forall x, t0 <= x < s -> topwants x = true \/ above_eligible x = true.
Hypothesis Qs : own_quiet s.
Hypothesis Nq : forall x, s < x <= rel i k -> ~ own_quiet x.
Hypothesis As : s <= rel i a.
Hypothesis Am : forall j, j < a -> ~ s <= rel i j.

Lemma need_before x : t0 <= x < rel i k -> in_need x.
Proof.
  intros X. destruct (le_lt_dec s x).
  - destruct (own_quiet_dec (S x)) as [Q|[j [R N]]].
    + exfalso. apply (Nq (S x)); auto. lia.
    + right; right. exists j. split; [lia|]. intros D. apply N. apply (later i j x); [lia|exact D].
  - destruct (F0 x) as [|]; [lia|left; auto|right; left; auto].
Qed.

Lemma job_done extra work q d w :
  loses_below extra -> (forall h, h < i -> executes_at_most h (work h)) ->
  d <= q -> demand_below extra work q w <= sbf w ->
  t0 + w <= rel i k \/ k = a + d -> complete i (a + d) (t0 + w).
Proof.
  intros Lo Wo Dq D K. destruct (complete_dec i (a + d) (t0 + w)) as [|I]; auto. exfalso.
  assert (Need : forall x, t0 <= x < t0 + w -> in_need x).
  { intros x X. destruct (le_lt_dec (rel i k) x).
    - destruct K as [K|K]; [lia|]. subst k. right; right. exists (a + d). split; [lia|].
      intros F. apply I. apply (later i (a + d) x); [lia|exact F].
    - apply need_before. lia. }
  assert (Held : forall x, t0 <= x < s -> held t0 x = true).
  { intros x X. apply forallb_forall. intros y Y. apply in_seq in Y. apply orb_true_iff. apply F0. lia. }
  assert (Tu : turns_below a q t0 w).
  { intros j x X Hx [Rj [Nj Ej]].
    assert (Sx : s <= x) by (destruct (le_lt_dec s x); auto; rewrite Held in Hx by lia; discriminate).
    split.
    - destruct (le_lt_dec a j) as [|G]; auto. exfalso. apply Nj. apply (later i j s); [lia|]. apply Qs.
      specialize (Am j G). lia.
    - destruct (le_lt_dec j (a + q)) as [|G]; auto. exfalso. apply I.
      apply (later i (a + d) x); [lia|]. apply Ej. lia. }
  pose proof (Sbf t0 w Need) as S0. pose proof (Lo t0 w a q Q0 Need Tu) as L0.
  pose (owns := fun x => existsb (fun j => own (a + j) x) (seq 0 (S d))).
  assert (X : cnt supply t0 w <= cnt (fun x => (top x || above_runs x) || (lost_below t0 x || owns x)) t0 w).
  { apply cnt_le. intros x X Su. rewrite !orb_true_iff. destruct (top x) eqn:Tp; [auto|].
    destruct (above_runs x) eqn:Ab; [auto|]. right. destruct (held t0 x) eqn:El.
    - left. unfold lost_below. now rewrite Su, Tp, Ab, El.
    - destruct (runs_task i x || own_suspended x) eqn:O.
      2: { left. unfold lost_below. now rewrite Su, Tp, Ab, El, O. }
      right. assert (Sx : s <= x).
      { destruct (le_lt_dec s x); auto. rewrite Held in El by lia. discriminate. }
      assert (J0 : exists j, own j x = true /\ rel i j <= x /\ ~ complete i j x
                   /\ forall j', j' < j -> complete i j' x).
      { apply orb_true_iff in O. destruct O as [O|O].
        - destruct (runs_task_sched _ _ _ O) as [j F]. exists j. split.
          + unfold own, Tasks.runs. now rewrite F, !Nat.eqb_refl.
          + apply (v_runs _ _ _ _ _ _ _ V _ _ _ F).
        - apply existsb_exists in O. destruct O as [j [_ F]]. exists j. split.
          + unfold own. now rewrite F, orb_true_r.
          + apply (s_first Sp _ _ _ F). }
      destruct J0 as [j [Oj [Rj [Nj Ej]]]].
      assert (a <= j).
      { destruct (le_lt_dec a j) as [|G]; auto. exfalso. apply Nj. apply (later i j s); [lia|]. apply Qs.
        specialize (Am j G). lia. }
      assert (j <= a + d).
      { destruct (le_lt_dec j (a + d)) as [|G]; auto. exfalso. apply I.
        apply (later i (a + d) x); [lia|apply (Ej (a + d) G)]. }
      apply existsb_exists. exists (j - a). split; [apply in_seq; lia|].
      now replace (a + (j - a)) with j by lia. }
  pose proof (cnt_or (fun x => top x || above_runs x) (fun x => lost_below t0 x || owns x) t0 w) as O1.
  pose proof (cnt_or top above_runs t0 w). pose proof (cnt_or (lost_below t0) owns t0 w).
  assert (cnt top t0 w <= topb w).
  { apply Top; auto. destruct Q0 as [->|[Q _]]; auto. }
  assert (cnt above_runs t0 w <= sum (fun h => work h w) i).
  { eapply Nat.le_trans; [apply split with (f := runs_task) (N := i)|].
    - intros x _ A. apply existsb_exists in A. destruct A as [h [In A]]. apply in_seq in In.
      exists h. split; auto. lia.
    - apply sum_ext. intros h Hh. apply Wo; auto. }
  assert (cnt owns t0 w < S q * (C i + Susp i)).
  { apply Nat.lt_le_trans with (S d * (C i + Susp i)); [|apply Nat.mul_le_mono_r; lia].
    rewrite <- sum_const.
    eapply Nat.le_lt_trans; [apply split with (f := fun j => own (a + j)) (N := S d)|].
    - intros x _ A. apply existsb_exists in A. destruct A as [j [In A]]. apply in_seq in In.
      exists j. split; auto. lia.
    - apply sum_lt with (d := d); [|lia|].
      + intros j _. pose proof (cnt_or (runs i (a + j)) (susp i (a + j)) t0 w).
        pose proof (cnt_le_cost _ _ _ _ _ _ _ V i (a + j) t0 w).
        pose proof (s_length Sp i (a + j) t0 w). unfold own. lia.
      + pose proof (cnt_or (runs i (a + d)) (susp i (a + d)) t0 w).
        pose proof (cnt_lt_cost _ _ _ _ _ _ _ V i (a + d) t0 w I).
        pose proof (s_length Sp i (a + d) t0 w). unfold own. lia. }
  simpl in O1. unfold demand_below in D. lia.
Qed.
End Window.

(* THE RESPONSE TIME below tasks that suspend themselves, and of a task that does so, in a VCPU of
   the background too. *)
Theorem response_below extra work n (ws : nat -> nat) R :
  loses_below extra -> (forall h, h < i -> executes_at_most h (work h)) ->
  (forall q, q <= n -> demand_below extra work q (ws q) <= sbf (ws q)) ->
  (forall q, q <= n -> ws q + J i <= R + q * T i) ->
  0 < ws n -> ws n + J i <= S n * T i ->
  forall k, complete i k (arr i k + R).
Proof.
  intros Lo Wo D B P E k. destruct (last_own_quiet (rel i k)) as [s [Ls [Qs Nq]]].
  destruct (last_nobody s) as [t0 [L0 [Q0 F0]]].
  destruct (least (fun j => s <= rel i j) (fun j => le_dec s (rel i j)) k) as [a [A1 [A2 A3]]]; auto.
  assert (K : exists q, k = a + q) by (exists (k - a); lia). destruct K as [q K].
  pose proof (arrs _ _ _ _ _ _ _ V i a q) as AR. rewrite <- K in AR.
  pose proof (v_jitter _ _ _ _ _ _ _ V i a). pose proof (v_jitter _ _ _ _ _ _ _ V i k).
  destruct (le_lt_dec q n) as [LQ|LQ].
  - pose proof (B q LQ).
    apply (later i k (t0 + ws q)); [lia|]. rewrite K.
    apply (job_done t0 s a k L0 Q0 F0 Qs Nq A2 A3 extra work q q (ws q)); auto.
  - exfalso. assert (S n * T i <= q * T i) by (apply Nat.mul_le_mono_r; lia).
    set (w := ws n) in *.
    assert (DN : forall d, d <= n -> complete i (a + d) (t0 + w)).
    { intros d Ld. apply (job_done t0 s a k L0 Q0 F0 Qs Nq A2 A3 extra work n d w); auto.
      - apply (D n). lia.
      - left. lia. }
    apply (Nq (s + w)); [lia|]. intros j Rj.
    destruct (le_lt_dec (a + S n) j) as [G|G].
    + exfalso. pose proof (arrs _ _ _ _ _ _ _ V i a (j - a)) as A. replace (a + (j - a)) with j in A by lia.
      pose proof (v_jitter _ _ _ _ _ _ _ V i j).
      assert (S n * T i <= (j - a) * T i) by (apply Nat.mul_le_mono_r; lia). lia.
    + destruct (le_lt_dec a j).
      * replace j with (a + (j - a)) by lia. apply (later i _ (t0 + w)); [lia|apply DN; lia].
      * apply (later i j s); [lia|]. apply Qs. specialize (A3 j l). lia.
Qed.

(* A preemptive schedule, which is never idle while a job could execute, loses nothing. *)
Definition preemptive_below := forall x h k, supply x = true -> h <= i -> eligible h k x = true ->
  top x = true \/ exists h' k', sched x = Some (h', k') /\ h' <= h.

Lemma preemptive_loses_nothing_below :
  preemptive_below -> loses_below (fun _ _ => 0).
Proof.
  intros Pr t0 w a q _ Need _. rewrite cnt_none; auto. intros x X. unfold lost_below.
  destruct (supply x) eqn:Su; auto. destruct (top x) eqn:Tp; auto.
  destruct (above_runs x) eqn:Ab; auto. simpl.
  assert (NA : above_eligible x = false).
  { destruct (above_eligible x) eqn:El; auto. exfalso. apply existsb_exists in El.
    destruct El as [h [In El]]. apply in_seq in In. apply existsb_exists in El. destruct El as [k [_ El]].
    destruct (Pr x h k Su ltac:(lia) El) as [|[h' [k' [F Lh]]]]; [congruence|].
    assert (above_runs x = true); [|congruence]. apply existsb_exists. exists h'.
    split; [apply in_seq; lia|]. unfold Tasks.runs_task. rewrite F. apply Nat.eqb_refl. }
  assert (NH : held t0 x = false).
  { destruct (held t0 x) eqn:Hx; auto. exfalso. unfold held in Hx. rewrite forallb_forall in Hx.
    specialize (Hx x ltac:(apply in_seq; lia)). rewrite NA, orb_false_r in Hx. apply Topwants in Hx. congruence. }
  rewrite NH. simpl. apply negb_false_iff.
  destruct (Need x X) as [Nd|[Nd|[k [Rk Nk]]]].
  - apply Topwants in Nd. congruence.
  - congruence.
  - destruct (first_incomplete i k x Rk Nk) as [j [_ [Rj [_ [E|E]]]]]; apply orb_true_iff.
    + right. apply existsb_exists. exists j. split; auto. apply in_seq.
      pose proof (rel_ge _ _ _ _ _ _ _ V i j). lia.
    + left. destruct (Pr x i j Su (le_n _) E) as [|[h' [k' [F Lh]]]]; [congruence|].
      unfold Tasks.runs_task. rewrite F. destruct (Nat.eq_dec h' i) as [->|]; [apply Nat.eqb_refl|].
      exfalso. assert (above_runs x = true); [|congruence]. apply existsb_exists. exists h'.
      split; [apply in_seq; lia|]. unfold Tasks.runs_task. rewrite F. apply Nat.eqb_refl.
Qed.
End Below.
