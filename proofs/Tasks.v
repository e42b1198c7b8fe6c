(* Tasks, jobs and schedules.

   The tasks of one VCPU have numbers, which are their priorities: 0 is the highest. Job [k] of task
   [h] arrives at [arr h k], is released at [rel h k], and needs [cost h k] slots. [sched] says which
   job executes in a slot, [supply] in which slots the VCPU has its PCPU. Only slots with both bring
   a job further in reality; a job that executes without supply is not excluded, because it does not
   make any bound wrong.

   What Prosa calls [arrival_sequence], [job_cost], [completed_by] and [service] are [arr], [cost],
   [complete] and [service] here. *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting.

Section Model.
Variables C T J : nat -> nat.                    (* execution time, period, jitter of a task *)
Variables arr rel cost : nat -> nat -> nat.
Variable sched : nat -> option (nat * nat).
Variable supply : nat -> bool.

Definition runs h k x :=
  match sched x with Some (h', k') => (h =? h') && (k =? k') | None => false end.
Definition runs_task h x := match sched x with Some (h', _) => h =? h' | None => false end.
Definition runs_down_to i x := match sched x with Some (h, _) => h <=? i | None => false end.
Definition service h k t := cnt (runs h k) 0 t.
Definition complete h k t := cost h k <= service h k t.
Definition pending h k t := rel h k <= t /\ ~ complete h k t.

(* What is assumed of every schedule: jobs need no longer than is described, arrive no more often,
   are released in time, and execute one after the other. Nothing is said of priorities here. *)
Record valid : Prop := {
  v_cost : forall h k, cost h k <= C h;
  v_period : forall h, 0 < T h;
  v_sporadic : forall h k, arr h k + T h <= arr h (S k);
  v_jitter : forall h k, arr h k <= rel h k <= arr h k + J h;
  v_runs : forall x h k, sched x = Some (h, k) ->
    rel h k <= x /\ ~ complete h k x /\ forall k', k' < k -> complete h k' x }.

(* All that task [i] and those above have released before [t] is complete. *)
Definition quiet i t := forall h k, h <= i -> rel h k < t -> complete h k t.

(* A job of [i] or of a task above is pending. *)
Definition busy i x := exists h k, h <= i /\ pending h k x.

(* The VCPU has its PCPU, but executes no job of [i] or of a task above. *)
Definition lost i x := supply x && negb (runs_down_to i x).

(* A busy window begins quietly, and is busy. *)
Definition busy_window i t0 w := quiet i t0 /\ forall x, t0 <= x < t0 + w -> busy i x.

(* Job [k] of task [i] has its turn: it is pending, and those before it are complete. *)
Definition turn i k x :=
  rel i k <= x /\ ~ complete i k x /\ forall k', k' < k -> complete i k' x.

(* Jobs of [i] that have their turn in a window are [q + 1] jobs from [a] on. *)
Definition turns i a q t0 w := forall k x, t0 <= x < t0 + w -> turn i k x -> a <= k <= a + q.

(* In a busy window of task [m] and those above, with [q + 1] jobs of task [i], no more than [extra q w] slots of supply
   are lost: to tasks below in sections that nothing interrupts, to the hypervisor, to lines of a cache that are loaded
   again, to waiting for memory. With [extra q w = 0] the schedule is preemptive and never idle while jobs are pending. *)
Definition loses_at_most m i (extra : nat -> nat -> nat) := forall t0 w a q,
  busy_window m t0 w -> turns i a q t0 w -> cnt (lost m) t0 w <= extra q w.

(* The VCPU is guaranteed [sbf w] slots in each window of [w] slots that is busy. *)
Definition respects_sbf i (sbf : nat -> nat) := forall t w,
  (forall x, t <= x < t + w -> busy i x) -> sbf w <= cnt supply t w.

Hypothesis V : valid.

Lemma complete_mono h k t u : t <= u -> complete h k t -> complete h k u.
Proof.
  unfold complete, service. intros L H. replace u with (t + (u - t)) by lia. rewrite cnt_add. lia.
Qed.

Lemma runs_sched h k x : runs h k x = true -> sched x = Some (h, k).
Proof.
  unfold runs. destruct (sched x) as [[h' k']|]; [|discriminate]. intros E.
  apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.eqb_eq in E1, E2. now subst.
Qed.

Lemma runs_task_sched h x : runs_task h x = true -> exists k, sched x = Some (h, k).
Proof.
  unfold runs_task. destruct (sched x) as [[h' k]|]; [|discriminate]. intros E.
  apply Nat.eqb_eq in E. subst. eauto.
Qed.

Lemma service_le h k t : service h k t <= cost h k.
Proof.
  unfold service. induction t; simpl; [lia|]. destruct (runs h k t) eqn:E; [|lia].
  apply runs_sched in E. destruct (v_runs V _ _ _ E) as [_ [N _]]. unfold complete, service in N. lia.
Qed.

Lemma cnt_le_cost h k t w : cnt (runs h k) t w <= C h.
Proof.
  pose proof (service_le h k (t + w)) as H. unfold service in H.
  rewrite cnt_add, Nat.add_0_l in H. pose proof (v_cost V h k). lia.
Qed.

Lemma cnt_lt_cost h k t w : ~ complete h k (t + w) -> cnt (runs h k) t w < C h.
Proof. unfold complete, service. rewrite cnt_add, Nat.add_0_l. pose proof (v_cost V h k). lia. Qed.

Lemma arrs h a d : arr h a + d * T h <= arr h (a + d).
Proof.
  induction d; simpl.
  - rewrite !Nat.add_0_r. lia.
  - rewrite Nat.add_succ_r. pose proof (v_sporadic V h (a + d)). lia.
Qed.

Lemma rel_ge h k : k <= rel h k.
Proof.
  pose proof (arrs h 0 k). pose proof (v_jitter V h k). pose proof (v_period V h).
  rewrite Nat.add_0_l in H. assert (k * 1 <= k * T h) by (apply Nat.mul_le_mono_l; lia). lia.
Qed.

Lemma quiet_dec i t : quiet i t \/ exists h k, h <= i /\ rel h k < t /\ ~ complete h k t.
Proof.
  destruct (Exists_dec (fun h => Exists (fun k => rel h k < t /\ ~ complete h k t) (seq 0 t))
                       (seq 0 (S i))) as [E|E].
  - intros h. apply Exists_dec. intros k. unfold complete.
    destruct (lt_dec (rel h k) t), (le_dec (cost h k) (service h k t)); firstorder.
  - right. apply Exists_exists in E. destruct E as [h [I E]].
    apply Exists_exists in E. destruct E as [k [_ E]].
    apply in_seq in I. exists h, k. intuition lia.
  - left. intros h k L R. destruct (le_dec (cost h k) (service h k t)); auto. exfalso. apply E.
    apply Exists_exists. exists h. split; [apply in_seq; lia|]. apply Exists_exists. exists k. split.
    + apply in_seq. pose proof (rel_ge h k). lia.
    + split; auto.
Qed.

Lemma last_quiet i r : exists t0, t0 <= r /\ quiet i t0 /\ forall x, t0 < x <= r -> ~ quiet i x.
Proof.
  induction r.
  - exists 0. repeat split; try lia. intros h k _ H; lia.
  - destruct (quiet_dec i (S r)) as [Q|[h [k [A [B D]]]]].
    + exists (S r). repeat split; auto. lia.
    + destruct IHr as [t0 [L [Q N]]]. exists t0. repeat split; auto. intros x X QX.
      destruct (Nat.eq_dec x (S r)) as [->|]; [apply D, QX; auto|apply (N x); auto; lia].
Qed.

(* In a window that begins quietly only jobs execute that were released in it. *)
Lemma in_window i t0 h k x :
  quiet i t0 -> h <= i -> t0 <= x -> sched x = Some (h, k) -> t0 <= rel h k <= x.
Proof.
  intros Q L X F. destruct (v_runs V _ _ _ F) as [R [N _]]. split; auto.
  destruct (le_lt_dec t0 (rel h k)); auto. exfalso. apply N. apply complete_mono with t0; auto.
Qed.

(* Jobs of a task released in a window are consecutive, and not many. *)
Lemma index_range h t0 w a k N :
  t0 <= rel h a -> (forall k, k < a -> ~ t0 <= rel h k) -> w + J h <= N * T h ->
  t0 <= rel h k < t0 + w -> a <= k < a + N.
Proof.
  intros A M W K. assert (a <= k) by (destruct (le_lt_dec a k); auto; exfalso; apply (M k); lia).
  split; auto. pose proof (arrs h a (k - a)) as X. replace (a + (k - a)) with k in X by lia.
  pose proof (v_jitter V h a). pose proof (v_jitter V h k). destruct (le_lt_dec (a + N) k); auto.
  assert (N * T h <= (k - a) * T h) by (apply Nat.mul_le_mono_r; lia). lia.
Qed.

(* The slots with [p], each of which belongs to a job of [h] that is released in the window, and no
   job has more than [c] of them. Execution is one example; reloads are another. *)
Lemma per_job_le h t0 w N (p : nat -> bool) (of : nat -> nat -> bool) c :
  (forall x, t0 <= x < t0 + w -> p x = true -> exists k, t0 <= rel h k < t0 + w /\ of k x = true) ->
  (forall k, cnt (of k) t0 w <= c) -> w + J h <= N * T h -> cnt p t0 w <= N * c.
Proof.
  intros B K W.
  destruct (Exists_dec (fun k => t0 <= rel h k < t0 + w) (seq 0 (t0 + w))) as [E|E].
  - intros k. destruct (le_dec t0 (rel h k)), (lt_dec (rel h k) (t0 + w));
      try (left; lia); right; lia.
  - apply Exists_exists in E. destruct E as [m [_ E]].
    destruct (least (fun k => t0 <= rel h k) (fun k => le_dec t0 (rel h k)) m)
      as [a [A1 [A2 A3]]]; [lia|].
    rewrite <- sum_const.
    eapply Nat.le_trans; [apply split with (f := fun d => of (a + d)) (N := N)|].
    + intros x X R. destruct (B x X R) as [k [RK O]].
      assert (a <= k < a + N) by (apply (index_range h t0 w); auto).
      exists (k - a). split; [lia|]. now replace (a + (k - a)) with k by lia.
    + apply sum_ext. intros. apply K.
  - rewrite cnt_none; [lia|]. intros x X. destruct (p x) eqn:P; auto. exfalso.
    destruct (B x X P) as [k [RK _]]. apply E, Exists_exists. exists k. split; [|lia].
    apply in_seq. pose proof (rel_ge h k). lia.
Qed.

Lemma task_le i t0 w h N :
  quiet i t0 -> h <= i -> w + J h <= N * T h -> cnt (runs_task h) t0 w <= N * C h.
Proof.
  intros Q L W. apply (per_job_le h t0 w N _ (runs h)); auto.
  - intros x X R. destruct (runs_task_sched _ _ R) as [k F]. exists k.
    pose proof (in_window _ _ _ _ _ Q L (proj1 X) F). split; [lia|].
    unfold runs. now rewrite F, !Nat.eqb_refl.
  - intros. apply cnt_le_cost.
Qed.

(* The same if a job of the window is not complete at its end. *)
Lemma task_lt i t0 w h N m :
  quiet i t0 -> h <= i -> w + J h <= N * T h -> rel h m < t0 + w -> ~ complete h m (t0 + w) ->
  cnt (runs_task h) t0 w < N * C h.
Proof.
  intros Q L W M I.
  assert (M0 : t0 <= rel h m).
  { destruct (le_lt_dec t0 (rel h m)); auto. exfalso. apply I.
    apply complete_mono with t0; [lia|auto]. }
  destruct (least (fun k => t0 <= rel h k) (fun k => le_dec t0 (rel h k)) m)
    as [a [A1 [A2 A3]]]; [lia|].
  assert (RM : a <= m < a + N) by (apply (index_range h t0 w); auto; lia).
  rewrite <- sum_const.
  eapply Nat.le_lt_trans; [apply split with (f := fun d => runs h (a + d)) (N := N)|].
  - intros x X R. destruct (runs_task_sched _ _ R) as [k F].
    pose proof (in_window _ _ _ _ _ Q L (proj1 X) F).
    assert (a <= k < a + N) by (apply (index_range h t0 w); auto; lia).
    exists (k - a). split; [lia|]. unfold runs. rewrite F.
    replace (a + (k - a)) with k by lia. now rewrite !Nat.eqb_refl.
  - apply sum_lt with (d := m - a); [intros; apply cnt_le_cost|lia|].
    replace (a + (m - a)) with m by lia. now apply cnt_lt_cost.
Qed.

(* Own jobs up to the one that is not complete. *)
Lemma own_lt m i t0 w a q :
  i <= m -> quiet m t0 -> t0 <= rel i a -> (forall k, k < a -> ~ t0 <= rel i k) ->
  ~ complete i (a + q) (t0 + w) -> cnt (runs_task i) t0 w < S q * C i.
Proof.
  intros Lm Q A M I. rewrite <- sum_const.
  eapply Nat.le_lt_trans; [apply split with (f := fun d => runs i (a + d)) (N := S q)|].
  - intros x X R. destruct (runs_task_sched _ _ R) as [k F].
    pose proof (in_window _ _ _ _ _ Q Lm (proj1 X) F).
    assert (a <= k) by (destruct (le_lt_dec a k); auto; exfalso; apply (M k); lia).
    assert (k <= a + q).
    { destruct (le_lt_dec k (a + q)); auto. exfalso. apply I.
      destruct (v_runs V _ _ _ F) as [_ [_ P]]. apply complete_mono with x; [lia|]. apply P; auto. }
    exists (k - a). split; [lia|]. unfold runs. rewrite F.
    replace (a + (k - a)) with k by lia. now rewrite !Nat.eqb_refl.
  - apply sum_lt with (d := q); [intros; apply cnt_le_cost|lia|]. now apply cnt_lt_cost.
Qed.

Lemma busy_before i t0 r x : (forall x, t0 < x <= r -> ~ quiet i x) -> t0 <= x < r -> busy i x.
Proof.
  intros N X. destruct (quiet_dec i (S x)) as [Q|[h [k [L [R I]]]]].
  - exfalso. apply (N (S x)); auto. lia.
  - exists h, k. repeat split; auto; [lia|]. intros D. apply I. apply complete_mono with x; auto.
Qed.

(* The most jobs of [h] that can be released in a window of [w] slots. *)
Definition jobs h w := ceil (w + J h) (T h).

Lemma jobs_ok h w : w + J h <= jobs h w * T h.
Proof. apply ceil_covers, (v_period V). Qed.

(* What task [i] can need in a window with [q + 1] of its jobs, and what the others down to [m] can. *)
Definition others i m w := sum (fun h => if h =? i then 0 else jobs h w * C h) (S m).
Definition demand i m extra q w := others i m w + S q * C i + extra q w.

Lemma others_last i w : others i i w = sum (fun h => jobs h w * C h) i.
Proof.
  unfold others. cbn [sum]. rewrite Nat.eqb_refl, Nat.add_0_r. apply sum_eq. intros h L.
  destruct (Nat.eqb_spec h i); lia.
Qed.

Variable sbf : nat -> nat.

Lemma supply_split m i extra t0 w a q : respects_sbf m sbf -> loses_at_most m i extra ->
  busy_window m t0 w -> turns i a q t0 w ->
  sbf w <= sum (fun h => cnt (runs_task h) t0 w) (S m) + extra q w.
Proof.
  intros SBF L B Tu. pose proof (L t0 w a q B Tu) as LB. destruct B as [Q B].
  assert (sbf w <= cnt supply t0 w) by (apply SBF; auto).
  assert (cnt supply t0 w <= cnt (fun x => lost m x || runs_down_to m x) t0 w).
  { apply cnt_le. intros x _ U. unfold lost. rewrite U. simpl. now destruct (runs_down_to m x). }
  pose proof (cnt_or (lost m) (runs_down_to m) t0 w).
  assert (cnt (runs_down_to m) t0 w <= sum (fun h => cnt (runs_task h) t0 w) (S m)).
  { apply split with (f := runs_task). intros x _ R. unfold runs_down_to in R. unfold runs_task.
    destruct (sched x) as [[h k]|]; [|discriminate]. apply Nat.leb_le in R.
    exists h. split; [lia|]. apply Nat.eqb_refl. }
  lia.
Qed.

(* THE RESPONSE TIME of task [i], above which all tasks down to [m] count: those with its priority can come before it in
   any order. For each of [n + 1] jobs in a busy window there is a length [ws q] in which the supply meets the demand; the
   last of them ends before the next job of the task can come. Then no job of the task takes longer than [R] from its
   arrival, in any schedule.

   (Lehoczky, RTSS 1990; Tindell, Burns and Wellings, RTSJ 1994; on a supply as Shin and Lee, RTSS
   2003.) *)
Theorem response i m extra n (ws : nat -> nat) R : i <= m ->
  respects_sbf m sbf -> loses_at_most m i extra ->
  (forall q, q <= n -> demand i m extra q (ws q) <= sbf (ws q)) ->
  (forall q, q <= n -> ws q + J i <= R + q * T i) ->
  0 < ws n -> ws n + J i <= S n * T i ->
  forall k, complete i k (arr i k + R).
Proof.
  intros LM SBF L D B P E k. destruct (last_quiet m (rel i k)) as [t0 [L0 [Q N]]].
  destruct (least (fun k => t0 <= rel i k) (fun k => le_dec t0 (rel i k)) k)
    as [a [A1 [A2 A3]]]; auto.
  assert (K : exists q, k = a + q) by (exists (k - a); lia). destruct K as [q K].
  pose proof (arrs i a q) as AR. rewrite <- K in AR.
  pose proof (v_jitter V i a). pose proof (v_jitter V i k).
  (* Jobs from before the window have no turn in it. *)
  assert (From : forall j x, t0 <= x -> turn i j x -> a <= j).
  { intros j x X [R1 [I _]]. destruct (le_lt_dec a j) as [|G]; auto. exfalso. apply I.
    apply complete_mono with t0; auto. apply Q; auto. specialize (A3 j G). lia. }
  destruct (le_lt_dec q n) as [LQ|LQ].
  - (* One of the windows. *)
    pose proof (D q LQ) as Dq. pose proof (B q LQ) as Bq.
    apply complete_mono with (t0 + ws q); [lia|].
    destruct (le_dec (cost i k) (service i k (t0 + ws q))) as [|I]; [assumption|]. exfalso.
    assert (X : sbf (ws q)
        <= sum (fun h => cnt (runs_task h) t0 (ws q)) (S m) + extra q (ws q)).
    { apply supply_split with (i := i) (a := a); auto.
      - split; auto. intros x X. destruct (le_lt_dec (rel i k) x).
        + exists i, k. repeat split; auto. intros F. apply I. apply complete_mono with x; auto. lia.
        + apply (busy_before m t0 (rel i k)); auto. lia.
      - intros j x X Tu. split; [apply (From j x); auto; lia|].
        destruct (le_lt_dec j (a + q)) as [|G]; auto. exfalso. apply I. rewrite K.
        apply complete_mono with x; [lia|]. apply Tu. lia. }
    rewrite (sum_pick _ i) in X by lia.
    assert (sum (fun h => if h =? i then 0 else cnt (runs_task h) t0 (ws q)) (S m) <= others i m (ws q)).
    { apply sum_ext. intros h Hh. destruct (h =? i); auto. apply (task_le m); auto; [lia|apply jobs_ok]. }
    assert (cnt (runs_task i) t0 (ws q) < S q * C i).
    { apply (own_lt m i t0 (ws q) a q); auto; rewrite <- K; unfold complete; lia. }
    unfold demand in Dq. lia.
  - (* The busy window is over before. *)
    exfalso. pose proof (D n (le_n _)) as Dn. set (w := ws n) in *.
    assert (S n * T i <= q * T i) by (apply Nat.mul_le_mono_r; lia).
    assert (W : t0 + w <= rel i k) by lia.
    destruct (quiet_dec m (t0 + w)) as [QQ|[h [j [Lh [Rm I]]]]].
    { apply (N (t0 + w)); auto; lia. }
    assert (X : sbf w <= sum (fun h => cnt (runs_task h) t0 w) (S m) + extra n w).
    { apply supply_split with (i := i) (a := a); auto.
      - split; auto. intros x Xx. apply (busy_before m t0 (rel i k)); auto. lia.
      - intros g x Xx Tu. split; [apply (From g x); auto; lia|].
        destruct (le_lt_dec g (a + n)) as [|G]; auto. exfalso.
        pose proof (arrs i a (g - a)) as Ag. replace (a + (g - a)) with g in Ag by lia.
        pose proof (v_jitter V i g). destruct Tu as [Rg _].
        assert (S n * T i <= (g - a) * T i) by (apply Nat.mul_le_mono_r; lia). lia. }
    assert (Y : sum (fun h => cnt (runs_task h) t0 w) (S m)
                < sum (fun h => (if h =? i then S n else jobs h w) * C h) (S m)).
    { assert (G : forall h, h <= m -> w + J h <= (if h =? i then S n else jobs h w) * T h).
      { intros g Gg. destruct (g =? i) eqn:Eg; [apply Nat.eqb_eq in Eg; subst; auto|apply jobs_ok]. }
      apply sum_lt with (d := h); [|lia|].
      - intros g Gg. apply (task_le m); auto; [lia|apply G; lia].
      - apply (task_lt m t0 w h _ j); auto. }
    rewrite (sum_pick (fun h => (if h =? i then S n else jobs h w) * C h) i) in Y by lia.
    rewrite Nat.eqb_refl in Y.
    assert (Z : sum (fun d => if d =? i then 0 else (if d =? i then S n else jobs d w) * C d) (S m)
                <= others i m w).
    { apply sum_ext. intros g Gg. destruct (g =? i); lia. }
    unfold demand in Dn. lia.
Qed.
End Model.
