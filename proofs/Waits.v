(* Waiting for memory: what accesses of other PCPUs add to response times.

   While an access of a task waits for accesses of other PCPUs, its job does not execute: slots of supply are lost. There
   are two limits. The accesses of the tasks are so many, and each waits for a limited time: [own_le]. And the accesses of
   another VM with a budget are so many, and each delays for a limited time: [source_le], as the staircase of XenThrottle
   (Eq. 3.5) with accesses that delay after the end of their period, and accesses beyond the budget. [account] leads from
   the rules of a budget (Memory.v) to the rule of [source_le]. *)
From Coq Require Import Arith Lia ZArith Bool List.
From Bulkhead Require Import Counting Tasks Supply Memory.

(* The first limit. *)
Section Own.
Variables C T J : nat -> nat.
Variables arr rel cost : nat -> nat -> nat.
Variable sched : nat -> option (nat * nat).
Variables i m : nat.                            (* a task, and the last one with its priority *)
Hypothesis V : valid C T J arr rel cost sched.
Hypothesis Lm : i <= m.

Notation busy_window := (busy_window rel cost sched).
Notation turn := (turn rel cost sched).
Notation turns := (turns rel cost sched).
Notation jobs := (jobs T J).

(* In [x] the VCPU waits for another PCPU. *)
Variable waits : nat -> bool.
(* It waits there because of an access of job [k] of task [h], or one that loads again what this job evicted: *)
Variable whose : nat -> nat -> nat -> bool.
Variable D : nat -> nat.                        (* at most so long for a job *)
(* or because of an access from before the window, or of a task below that blocks others at its start. *)
Variable early : nat -> nat -> bool.
Variable E : nat.

Definition own_rule :=
  (forall h k t w, cnt (whose h k) t w <= D h) /\
  (forall t0 w, cnt (early t0) t0 w <= E) /\
  (forall t0 w x, busy_window m t0 w -> t0 <= x < t0 + w -> waits x = true ->
     early t0 x = true \/ (exists k, turn i k x /\ whose i k x = true) \/
     (exists h k, h <= m /\ h <> i /\ t0 <= rel h k <= x /\ whose h k x = true)).

Definition own_waits q w :=
  E + S q * D i + sum (fun h => if h =? i then 0 else jobs h w * D h) (S m).

Theorem own_le t0 w a q : own_rule -> busy_window m t0 w -> turns i a q t0 w ->
  cnt waits t0 w <= own_waits q w.
Proof.
  intros [D1 [E1 R]] B Tu.
  pose (own := fun x => existsb (fun d => whose i (a + d) x) (seq 0 (S q))).
  pose (of := fun h x => negb (h =? i) && existsb (fun k => (t0 <=? rel h k) && (rel h k <? t0 + w) && whose h k x)
                                                  (seq 0 (t0 + w))).
  pose (any := fun x => existsb (fun h => of h x) (seq 0 (S m))).
  assert (X : cnt waits t0 w <= cnt (fun x => early t0 x || (own x || any x)) t0 w).
  { apply cnt_le. intros x X W. rewrite !orb_true_iff.
    destruct (R t0 w x B X W) as [Q|[[k [Tk Q]]|[h [k [Hm [Hi [Rk Q]]]]]]]; auto.
    - right; left. pose proof (Tu k x X Tk). apply existsb_exists. exists (k - a).
      split; [apply in_seq; lia|]. now replace (a + (k - a)) with k by lia.
    - right; right. apply existsb_exists. exists h. split; [apply in_seq; lia|]. unfold of.
      apply andb_true_iff. split; [now apply negb_true_iff, Nat.eqb_neq|].
      pose proof (rel_ge _ _ _ _ _ _ _ V h k).
      apply existsb_exists. exists k. split; [apply in_seq; lia|]. rewrite Q, andb_true_r.
      apply andb_true_iff. split; [apply Nat.leb_le|apply Nat.ltb_lt]; lia. }
  pose proof (cnt_or (early t0) (fun x => own x || any x) t0 w) as O1. cbv beta in O1.
  pose proof (cnt_or own any t0 w). pose proof (E1 t0 w).
  assert (cnt own t0 w <= S q * D i).
  { rewrite <- sum_const. eapply Nat.le_trans; [apply split with (f := fun d => whose i (a + d)) (N := S q)|].
    - intros x _ O. apply existsb_exists in O. destruct O as [d [L O]]. apply in_seq in L. exists d. split; auto. lia.
    - apply sum_ext. intros. apply D1. }
  assert (cnt any t0 w <= sum (fun h => if h =? i then 0 else jobs h w * D h) (S m)).
  { eapply Nat.le_trans; [apply split with (f := of) (N := S m)|].
    - intros x _ O. apply existsb_exists in O. destruct O as [d [L O]]. apply in_seq in L. exists d. split; auto. lia.
    - apply sum_ext. intros h Hh. unfold of. destruct (h =? i).
      { simpl. rewrite cnt_none; auto. }
      apply (per_job_le _ _ _ _ _ _ _ V h t0 w (jobs h w) _ (whose h) (D h)); auto.
      + intros x _ F. apply andb_true_iff in F. destruct F as [_ F]. apply existsb_exists in F.
        destruct F as [k [_ F]]. exists k. rewrite !andb_true_iff, Nat.leb_le, Nat.ltb_lt in F. tauto.
      + apply ceil_covers. apply (v_period _ _ _ _ _ _ _ V). }
  unfold own_waits. lia.
Qed.
End Own.

(* The second limit. *)
Section Source.
(* A source of accesses: its periods begin at [begin P first p]. *)
Variables P late step credit first : nat.
(* In [x] somebody waits for an access that counts for period [p]. *)
Variable by_period : nat -> nat -> bool.

(* An access delays others in its period, or within [late] after it; and those of periods in a row delay for no longer
   than [step] for each, and [credit] once. *)
Definition delays_in_time := forall p x, by_period p x = true ->
  begin P first p <= x < begin P first p + P + late.
Definition delays_little := forall p m t w,
  sum (fun d => cnt (by_period (p + d)) t w) m <= m * step + credit.

Definition source_rule := delays_in_time /\ (step < P -> delays_little).

(* XenThrottle, Eq. 3.5, for a window that is longer by [late]; and never more than the window. *)
Definition staircase w := Nat.min w (Nat.min step P + stair (Nat.min step P) P (w + late - Nat.min step P) + credit).
End Source.

Section Staircase.
Variables P late step credit first : nat.
Variable by_period : nat -> nat -> bool.
Hypothesis Pp : 0 < P.
Hypothesis Sp : step < P.
Hypothesis In : delays_in_time P late first by_period.
Hypothesis Li : delays_little step credit by_period.

(* The first period of the window is [a]; there are [m] whole ones, and a part of [e] of the last. *)
Lemma source_from t w (p : nat -> bool) : late <= t -> first <= t - late ->
  (forall x, t <= x < t + w -> p x = true -> exists k, by_period k x = true) ->
  cnt p t w <= step + stair step P (w + late - step) + credit.
Proof.
  intros Lt Ft Pr. destruct (stair_split P (t - late - first) Pp) as [a [d [Ed Ld]]].
  set (u := t - late) in *. assert (U : u = begin P first a + d) by (unfold begin; lia).
  assert (From : forall k x, t <= x -> by_period k x = true -> a <= k).
  { intros k x X B. destruct (In k x B) as [_ R]. destruct (le_lt_dec a k) as [|G]; auto. exfalso.
    unfold begin in *. assert (S k * P <= a * P) by (apply Nat.mul_le_mono_r; lia). simpl in *. lia. }
  set (f := P - d) in *.
  destruct (le_lt_dec (w + late) f) as [Sh|Lo].
  - (* All of it is in one period. *)
    assert (O : cnt p t w <= cnt (by_period a) t w).
    { apply cnt_le. intros x X Px. destruct (Pr x X Px) as [k B]. pose proof (From k x (proj1 X) B).
      destruct (Nat.eq_dec k a) as [->|]; auto. exfalso. destruct (In k x B) as [R _].
      unfold begin in *. assert (S a * P <= k * P) by (apply Nat.mul_le_mono_r; lia). simpl in *. lia. }
    pose proof (Li a 1 t w) as L. simpl in L. rewrite Nat.add_0_r in L. lia.
  - destruct (stair_split P (w + late - f) Pp) as [m [e [Ee Le]]].
    set (g := fun k => cnt (by_period (a + k)) t w).
    assert (A : cnt p t w <= sum g (S (S m))).
    { apply split with (f := fun k => by_period (a + k)). intros x X Px.
      destruct (Pr x X Px) as [k B]. pose proof (From k x (proj1 X) B).
      exists (k - a). replace (a + (k - a)) with k by lia. split; auto.
      destruct (In k x B) as [R _]. destruct (le_lt_dec (S (S m)) (k - a)) as [G|]; auto. exfalso.
      unfold begin in *. assert ((a + S (S m)) * P <= k * P) by (apply Nat.mul_le_mono_r; lia).
      rewrite Nat.mul_add_distr_r in H0. simpl in H0. lia. }
    (* The first part, the middle and the last part. *)
    assert (F : g 0 <= f).
    { unfold g. rewrite Nat.add_0_r. destruct (le_lt_dec w f) as [G|G].
      - pose proof (cnt_max (by_period a) t w). lia.
      - rewrite (cnt_sub _ t f w) by lia. rewrite (cnt_none _ (t + f)).
        + pose proof (cnt_max (by_period a) t f). lia.
        + intros x X. destruct (by_period a x) eqn:B; auto. destruct (In a x B). lia. }
    assert (E : g (S m) <= e).
    { unfold g. assert (Bg : begin P first (a + S m) = u + f + m * P).
      { unfold begin in *. rewrite Nat.mul_add_distr_r. simpl. lia. }
      destruct (le_lt_dec w e) as [G|G].
      - pose proof (cnt_max (by_period (a + S m)) t w). lia.
      - rewrite (cnt_sub _ t (w - e) w) by lia. rewrite (cnt_none _ t).
        + pose proof (cnt_max (by_period (a + S m)) (t + (w - e)) (w - (w - e))). lia.
        + intros x X. destruct (by_period (a + S m) x) eqn:B; auto. destruct (In _ x B). lia. }
    assert (Sh : forall k n, sum (fun d => g (k + d)) n <= n * step + credit).
    { intros k n. pose proof (Li (a + k) n t w) as L. eapply Nat.le_trans; [|exact L].
      apply sum_ext. intros j _. unfold g. rewrite Nat.add_assoc. lia. }
    assert (Split : forall n, sum g (S n) = g 0 + sum (fun d => g (1 + d)) n).
    { induction n; [simpl; lia|]. cbn [sum] in *. simpl Nat.add in *. lia. }
    pose proof (Sh 0 (S (S m))) as All. pose proof (Sh 0 (S m)) as Fi. pose proof (Sh 1 (S m)) as La.
    pose proof (Sh 1 m) as Mi. simpl Nat.add in All, Fi.
    assert (A1 : sum g (S (S m)) = sum g (S m) + g (S m)) by reflexivity.
    assert (A2 : sum g (S (S m)) = g 0 + sum (fun d => g (1 + d)) (S m)) by apply Split.
    assert (A3 : sum g (S m) = g 0 + sum (fun d => g (1 + d)) m) by apply Split.
    change (sum (fun d => g d)) with (sum g) in *.
    assert (W : w + late = f + m * P + e) by lia.
    assert (St : forall z, z <= w + late - step -> stair step P z <= stair step P (w + late - step)).
    { intros z Z. apply stair_mono; lia. }
    simpl Nat.mul in All, Fi, La.
    destruct (le_lt_dec step f) as [Cf|Cf].
    + pose proof (St (m * P + e) ltac:(lia)) as Q. rewrite stair_at in Q by lia. lia.
    + destruct (le_lt_dec step (f + e)) as [Ce|Ce].
      * pose proof (St (m * P + (f + e - step)) ltac:(lia)) as Q. rewrite stair_at in Q by lia. lia.
      * destruct m as [|m]; [simpl in *; lia|].
        pose proof (St (m * P + (P - (step - (f + e)))) ltac:(simpl in W; lia)) as Q.
        rewrite stair_at in Q by lia. simpl in *. lia.
Qed.
End Staircase.

(* Time that begins later by [N] slots. *)
Lemma later_le (s : nat -> bool) N t w : cnt (fun x => (N <=? x) && s (x - N)) t w <= cnt s (t - N) w.
Proof.
  destruct (le_lt_dec N t) as [L|L].
  - induction w; cbn [cnt]; auto. replace (N <=? t + w) with true by (symmetry; apply Nat.leb_le; lia).
    replace (t + w - N) with (t - N + w) by lia. simpl. lia.
  - replace (t - N) with 0 by lia.
    assert (Z : forall w, w <= N - t -> cnt (fun x => (N <=? x) && s (x - N)) t w = 0).
    { intros n G. apply cnt_none. intros x X.
      replace (N <=? x) with false by (symmetry; apply Nat.leb_gt; lia). reflexivity. }
    destruct (le_lt_dec w (N - t)) as [G|G]; [rewrite Z by lia; lia|].
    rewrite (cnt_sub _ t (N - t) w), Z by lia. replace (t + (N - t)) with N by lia. simpl.
    assert (E : forall n, cnt (fun x => (N <=? x) && s (x - N)) N n = cnt s 0 n).
    { induction n; cbn [cnt]; auto. rewrite IHn. replace (N <=? N + n) with true by (symmetry; apply Nat.leb_le; lia).
      now replace (N + n - N) with (0 + n) by lia. }
    rewrite E. apply cnt_longer. lia.
Qed.

Lemma later_eq (s : nat -> bool) N t w : cnt (fun x => (N <=? x) && s (x - N)) (t + N) w = cnt s t w.
Proof.
  induction w; cbn [cnt]; auto. rewrite IHw.
  replace (N <=? t + N + w) with true by (symmetry; apply Nat.leb_le; lia).
  replace (t + N + w - N) with (t + w) by lia. reflexivity.
Qed.

(* The same from any slot on: as if time had begun earlier, with periods without accesses. *)
Theorem source_le P late step credit first by_period t w (p : nat -> bool) : 0 < P ->
  source_rule P late step credit first by_period ->
  (forall x, t <= x < t + w -> p x = true -> exists k, by_period k x = true) ->
  cnt p t w <= staircase P late step credit w.
Proof.
  intros Pp [In Li] Pr. unfold staircase. apply Nat.min_glb; [apply cnt_max|].
  destruct (le_lt_dec P step) as [G|G].
  - rewrite Nat.min_r by lia. pose proof (cnt_max p t w).
    destruct (le_lt_dec (w + late) P); [lia|].
    destruct (stair_split P (w + late - P) Pp) as [a [d [E D]]]. rewrite E, stair_at by lia. lia.
  - rewrite Nat.min_l by lia. specialize (Li G).
    set (M := late + first). set (N := M * P).
    pose (q := fun x => (N <=? x) && p (x - N)).
    pose (by2 := fun k x => (M <=? k) && ((N <=? x) && by_period (k - M) (x - N))).
    assert (MN : M <= N) by (unfold N; assert (M * 1 <= M * P) by (apply Nat.mul_le_mono_l; lia); lia).
    rewrite <- (later_eq p N t w). apply (source_from P late step credit first by2 Pp G).
    + intros k x B. unfold by2 in B. rewrite !andb_true_iff, !Nat.leb_le in B. destruct B as [K [X B]].
      destruct (In _ _ B) as [R1 R2]. unfold begin in *.
      assert (KM : (k - M) * P = k * P - N) by (unfold N; apply Nat.mul_sub_distr_r). rewrite KM in R1, R2.
      assert (N <= k * P) by (unfold N; apply Nat.mul_le_mono_r; lia). lia.
    + (* Those before the first period of the source have no accesses. *)
      intros k m t' w'. remember (M - k) as j eqn:J. revert k m J. induction j; intros k m J.
      * eapply Nat.le_trans; [|apply (Li (k - M) m (t' - N) w')]. apply sum_ext. intros d _.
        eapply Nat.le_trans; [|apply later_le]. apply cnt_le. intros x _ B. unfold by2 in B.
        apply andb_true_iff in B. destruct B as [_ B]. now replace (k - M + d) with (k + d - M) by lia.
      * destruct m as [|m]; [simpl; lia|].
        assert (Z : cnt (by2 (k + 0)) t' w' = 0).
        { apply cnt_none. intros x _. unfold by2. now replace (M <=? k + 0) with false by (symmetry; apply Nat.leb_gt; lia). }
        assert (Sp : forall g n, sum g (S n) = g 0 + sum (fun d => g (S d)) n).
        { intros g n. induction n; simpl in *; lia. }
        rewrite Sp, Z. pose proof (IHj (S k) m ltac:(lia)) as I.
        assert (Q : sum (fun d => cnt (by2 (k + S d)) t' w') m = sum (fun d => cnt (by2 (S k + d)) t' w') m).
        { apply sum_eq. intros d _. now replace (k + S d) with (S k + d) by lia. }
        rewrite Q. simpl in *. lia.
    + lia.
    + lia.
    + intros x X Q. apply andb_true_iff in Q. destruct Q as [Q1 Q]. apply Nat.leb_le in Q1.
      destruct (Pr (x - N) ltac:(lia) Q) as [k B]. exists (k + M). unfold by2.
      replace (k + M - M) with k by lia. rewrite B, !andb_true_r. apply andb_true_iff. split; apply Nat.leb_le; lia.
Qed.

(* A budget of [Q] accesses in each [P] slots, from slot 0 on, of a VM that makes at most [o] accesses more when it is
   stopped. If accesses of a period delay others for at most [L] each, they follow the rule with [Q L] and [o L]. *)
Section Budget.
Variables P Q o L : nat.
Variable makes : nat -> nat.
Variable by_period : nat -> nat -> bool.
Hypothesis Pp : 0 < P.
Hypothesis St : stopped P Q o makes.
Hypothesis De : forall p t w, cnt (by_period p) t w <= accesses makes (p * P) P * L.

(* Accesses of [m] periods in a row. *)
Lemma periods_le p m : accesses makes (p * P) (m * P) <= m * Q + o.
Proof.
  destruct m as [|m]; [unfold accesses; simpl; lia|].
  assert (E : exists n, S m * P = S n) by (exists (S m * P - 1); simpl; lia). destruct E as [n E].
  rewrite E. pose proof (taken P Q makes Pp (p * P) n) as Tk.
  pose proof (never_above P Q makes Pp (p * P)) as Up. pose proof (debt P Q o makes Pp St (p * P + n)) as D.
  assert (A : accesses makes (p * P) (S n) = accesses makes (p * P) n + makes (p * P + n)) by reflexivity.
  (* Renewals: at the starts of the other periods. *)
  assert (R : renewals P (p * P) n <= m).
  { unfold renewals.
    assert (G : forall j, cnt (fun x => x mod P =? 0) (S (p * P)) (j * P + (P - 1)) <= j).
    { induction j.
      - rewrite cnt_none; [lia|]. intros x X. apply Nat.eqb_neq. simpl in X.
        replace x with (x - p * P + p * P) by lia. rewrite Nat.mod_add, Nat.mod_small by lia. lia.
      - replace (S j * P + (P - 1)) with (j * P + (P - 1) + P) by (simpl; lia). rewrite cnt_add.
        assert (One : cnt (fun x => x mod P =? 0) (S (p * P) + (j * P + (P - 1))) P <= 1); [|lia].
        replace (S (p * P) + (j * P + (P - 1))) with ((p + j + 1) * P) by (rewrite !Nat.mul_add_distr_r; lia).
        rewrite (cnt_sub _ _ 1 P) by lia. rewrite (cnt_none _ ((p + j + 1) * P + 1)).
        + pose proof (cnt_max (fun x => x mod P =? 0) ((p + j + 1) * P) 1). lia.
        + intros x X. apply Nat.eqb_neq. replace x with (x - (p + j + 1) * P + (p + j + 1) * P) by lia.
          rewrite Nat.mod_add, Nat.mod_small by lia. lia. }
    eapply Nat.le_trans; [|apply (G m)]. apply cnt_longer. simpl in E. lia. }
  assert (RQ : renewals P (p * P) n * Q <= m * Q) by (apply Nat.mul_le_mono_r; lia).
  rewrite A. simpl. lia.
Qed.

Theorem account : delays_little (Q * L) (o * L) by_period.
Proof.
  intros p m t w.
  assert (A : sum (fun d => cnt (by_period (p + d)) t w) m <= accesses makes (p * P) (m * P) * L).
  { induction m; [simpl; lia|]. cbn [sum]. pose proof (De (p + m) t w) as D.
    replace (S m * P) with (m * P + P) by (simpl; lia).
    assert (Sp : forall n, accesses makes (p * P) (m * P + n)
      = accesses makes (p * P) (m * P) + accesses makes ((p + m) * P) n).
    { unfold accesses. induction n; [rewrite Nat.add_0_r; simpl; lia|]. rewrite Nat.add_succ_r. cbn [sum].
      rewrite IHn. replace (p * P + (m * P + n)) with ((p + m) * P + n) by lia. lia. }
    rewrite Sp, Nat.mul_add_distr_r. lia. }
  eapply Nat.le_trans; [exact A|]. pose proof (periods_le p m).
  assert (accesses makes (p * P) (m * P) * L <= (m * Q + o) * L) by (apply Nat.mul_le_mono_r; lia). lia.
Qed.
End Budget.
