(* Supply: how many slots a VCPU gets for sure.

   [sbf B T W] is the supply bound function of the periodic resource model (Shin and Lee, RTSS 2003)
   for a server with budget [B] and period [T] that has its budget after [W] slots at the latest.
   The theorems say that the three kinds of servers supply as much: [replenished_supply] for
   periodic and deferrable servers, [sporadic_supply] for sporadic ones. They need one thing of the
   VCPUs above: [leaves], which [Servers.v] proves. *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting.

(* A staircase: in each period of [T], [B] slots rise, and [T - B] are flat. *)
Definition stair B T r := r / T * B + Nat.min B (r mod T).

(* In the worst case the last budget came at the start of a period, and the next one comes as late
   as it can. *)
Definition sbf B T W w := stair B T (w - ((T - B) + (W - B))).

Lemma stair_at B T m y : 0 < T -> B <= T -> y <= T -> stair B T (m * T + y) = m * B + Nat.min B y.
Proof.
  intros P L Y. unfold stair. destruct (Nat.eq_dec y T) as [->|].
  - replace (m * T + T) with (S m * T) by lia.
    rewrite Nat.div_mul, Nat.mod_mul by lia. rewrite Nat.min_0_r, Nat.min_l by lia. lia.
  - replace (m * T + y) with (y + m * T) by lia.
    rewrite Nat.div_add, Nat.mod_add, Nat.div_small, Nat.mod_small by lia. lia.
Qed.

Lemma stair_split T r : 0 < T -> exists m y, r = m * T + y /\ y < T.
Proof.
  intros P. exists (r / T), (r mod T). pose proof (Nat.div_mod r T).
  pose proof (Nat.mod_upper_bound r T). lia.
Qed.

Lemma stair_mono B T r r' : 0 < T -> B <= T -> r <= r' -> stair B T r <= stair B T r'.
Proof.
  intros P L H. destruct (stair_split T r P) as [m [y [-> Y]]].
  destruct (stair_split T r' P) as [m' [y' [-> Y']]].
  rewrite !stair_at by lia. destruct (le_lt_dec m' m).
  - assert (m' = m) by nia. subst. lia.
  - assert (S m * B <= m' * B) by (apply Nat.mul_le_mono_r; lia). simpl in *. lia.
Qed.

(* A step of [j] slots rises by at most [j], and one of a period by [B]. *)
Lemma stair_step B T m j r :
  0 < T -> B <= T -> stair B T (m * T + j + r) <= m * B + j + stair B T r.
Proof.
  intros P L. destruct (stair_split T r P) as [k [y [-> Y]]].
  destruct (stair_split T (j + y) P) as [c [z [E Z]]].
  replace (m * T + j + (k * T + y)) with ((m + k + c) * T + z) by nia.
  rewrite !stair_at by lia.
  assert (c * B + Nat.min B z <= j + Nat.min B y); [|nia].
  destruct c as [|c]; [lia|].
  assert (c * B <= c * T) by (apply Nat.mul_le_mono_l; lia). simpl in E |- *. lia.
Qed.

(* What those above leave, in any window that is not longer than [W]: they take [W - B] at most.
   [taken x]: some VCPU above uses slot [x], or nothing is served in it. *)
Definition leaves (taken : nat -> bool) B W := forall t n, n <= W ->
  n <= cnt (fun x => negb (taken x)) t n + (W - B).

(* More than one window of [W]. *)
Lemma leaves_more taken B T W t n : 0 < B -> B <= W -> W <= T -> leaves taken B W ->
  stair B T (n - (W - B)) <= cnt (fun x => negb (taken x)) t n.
Proof.
  intros PB BW WT L. set (free := fun x => negb (taken x)).
  assert (G : forall m, m * B <= cnt free t (m * W)).
  { induction m; [simpl; lia|]. replace (S m * W) with (m * W + W) by lia. rewrite cnt_add.
    pose proof (L (t + m * W) W) as H. fold free in H. lia. }
  destruct (le_lt_dec n (W - B)) as [S|S].
  { replace (n - (W - B)) with 0 by lia. unfold stair. rewrite Nat.div_0_l, Nat.mod_0_l by lia.
    rewrite Nat.min_0_r. simpl. lia. }
  destruct (stair_split T (n - (W - B))) as [m [y [E Y]]]; [lia|]. rewrite E, stair_at by lia.
  assert (MW : m * W <= m * T) by (apply Nat.mul_le_mono_l; lia).
  assert (N : m * W + (Nat.min B y + (W - B)) <= n) by lia.
  pose proof (cnt_longer free t _ _ N). rewrite cnt_add in H.
  pose proof (L (t + m * W) (Nat.min B y + (W - B))). fold free in H0. pose proof (G m). lia.
Qed.

Section Replenished.
(* A server whose budget is renewed at [start + k * T]: periodic or deferrable. [used x]: budget is
   used in slot [x]; [ready x]: the VCPU has something to execute. *)
Variables B T W start : nat.
Variables used ready taken : nat -> bool.

Definition begin k := start + k * T.

(* Budget that was used before slot [x] in the period to which [x] belongs. *)
Definition used_in_period x :=
  let b := begin ((x - start) / T) in cnt used b (x - b).

(* The server has budget, and is to use it. *)
Definition contends x := (start <=? x) && ready x && (used_in_period x <? B).

(* If it contends, it uses its budget, unless those above take the slot. *)
Definition serves := forall x, contends x = true -> taken x = false -> used x = true.

Hypothesis Bpos : 0 < B.
Hypothesis BW : B <= W.
Hypothesis WT : W <= T.
Hypothesis L : leaves taken B W.
Hypothesis S : serves.

Let gets x := used x || negb (ready x).

Lemma in_period k d : d < T -> (begin k + d - start) / T = k.
Proof.
  intros D. unfold begin. replace (start + k * T + d - start) with (d + k * T) by lia.
  rewrite Nat.div_add by lia. rewrite Nat.div_small by lia. lia.
Qed.

Lemma part_of_period k d n : d + n <= T ->
  Nat.min (B - d) (n - (W - B)) <= cnt gets (begin k + d) n.
Proof.
  intros N. assert (UG : forall t m, cnt used t m <= cnt gets t m).
  { intros. apply cnt_le. intros x _ U. unfold gets. now rewrite U. }
  destruct (le_lt_dec B (cnt used (begin k) (d + n))) as [E|E].
  - rewrite cnt_add in E. pose proof (cnt_max used (begin k) d). pose proof (UG (begin k + d) n). lia.
  - (* There is budget in all slots. *)
    assert (F : forall m, m <= n ->
      cnt (fun x => negb (taken x)) (begin k + d) m <= cnt gets (begin k + d) m).
    { intros m M. apply cnt_le. intros x X Fx. apply negb_true_iff in Fx. unfold gets.
      destruct (ready x) eqn:Rx; [|now rewrite orb_true_r].
      rewrite S; auto. unfold contends. rewrite Rx, andb_true_r. apply andb_true_iff. split.
      - apply Nat.leb_le. unfold begin in X. lia.
      - apply Nat.ltb_lt. unfold used_in_period.
        assert (I : (x - start) / T = k).
        { pose proof (in_period k (x - begin k)) as I.
          replace (begin k + (x - begin k)) with x in I by lia. apply I. lia. }
        rewrite I.
        eapply Nat.le_lt_trans; [apply cnt_longer|apply E]. lia. }
    destruct (le_lt_dec n W) as [NW|NW].
    + pose proof (L (begin k + d) n NW). pose proof (F n (le_n _)). lia.
    + pose proof (L (begin k + d) W (le_n _)). pose proof (F W).
      pose proof (cnt_longer gets (begin k + d) W n). lia.
Qed.

(* THE SUPPLY of a periodic or deferrable server, in any window after the start of its first
   period. Slots in which the VCPU is not ready count as supply, because then nothing is pending. *)
Theorem replenished_supply t w : start <= t -> sbf B T W w <= cnt gets t w.
Proof.
  intros St. destruct (stair_split T (t - start)) as [k [d [E D]]]; [lia|].
  assert (Et : t = begin k + d) by (unfold begin; lia). clear E. subst t. unfold sbf.
  destruct (le_lt_dec w (T - d)) as [A|A].
  - eapply Nat.le_trans; [|apply part_of_period; lia].
    replace (w - (T - B + (W - B))) with (0 * T + (w - (T - B + (W - B)))) by lia.
    rewrite stair_at by lia. lia.
  - destruct (stair_split T (w - (T - d))) as [m [e [Em Ee]]]; [lia|].
    assert (Ew : w = (T - d) + m * T + e) by lia. clear Em. subst w. rewrite !cnt_add.
    pose proof (part_of_period k d (T - d) ltac:(lia)) as P1.
    assert (P2 : m * B <= cnt gets (begin k + d + (T - d)) (m * T)).
    { assert (G : forall j, j * B <= cnt gets (begin (k + 1)) (j * T)).
      { induction j; [simpl; lia|]. replace (Datatypes.S j * T) with (j * T + T) by lia. rewrite cnt_add.
        pose proof (part_of_period (k + 1 + j) 0 T ltac:(lia)) as Q.
        replace (begin (k + 1 + j) + 0) with (begin (k + 1) + j * T) in Q by (unfold begin; lia). lia. }
      replace (begin k + d + (T - d)) with (begin (k + 1)) by (unfold begin; lia). apply G. }
    pose proof (part_of_period (k + 1 + m) 0 e ltac:(lia)) as P3.
    replace (begin k + d + (T - d + m * T)) with (begin (k + 1 + m) + 0) by (unfold begin; lia).
    assert (stair B T (T - d + m * T + e - (T - B + (W - B)))
            <= Nat.min (B - d) (T - d - (W - B)) + m * B + Nat.min (B - 0) (e - (W - B))); [|lia].
    destruct (le_lt_dec (T - d + m * T + e) (T - B + (W - B))) as [Z|Z].
    { replace (T - d + m * T + e - (T - B + (W - B))) with (0 * T + 0) by lia.
      rewrite stair_at by lia. lia. }
    (* Measured from the whole periods, the staircase is [B - d + e - (W - B)] further. *)
    destruct (le_lt_dec (d + (W - B)) (B + e)) as [G|G].
    + set (y := B + e - (d + (W - B))) in *.
      assert (Y : T - d + m * T + e - (T - B + (W - B)) = m * T + y) by (unfold y; lia).
      rewrite Y. destruct (le_lt_dec y T) as [YT|YT].
      * rewrite stair_at by lia. unfold y. lia.
      * replace (m * T + y) with ((m + 1) * T + (y - T)) by lia.
        rewrite stair_at by (unfold y in *; lia). unfold y in *. lia.
    + eapply Nat.le_trans; [apply (stair_mono B T _ (m * T + 0)); lia|].
      rewrite stair_at by lia. lia.
Qed.
End Replenished.

Section Sporadic.
(* A sporadic server as the sequence of the slots that it uses: [avail n] is the time from which on
   the [n]-th of them could be used. A used slot is replenished one period after that time, so that
   slot [n + B] is available then, or as soon as the VCPU is ready again. *)
Variables B T W start : nat.
Variables used ready taken : nat -> bool.
Variable avail : nat -> nat.

Definition uses t := cnt used 0 t.
Definition sporadic_contends x := ready x && (avail (uses x) <=? x).
Definition sporadic_serves :=
  forall x, sporadic_contends x = true -> taken x = false -> used x = true.

(* Replenishments, for the supply. While the VCPU is ready, from [t] to [u], a slot that was available
   at [avail n] is replenished in time; what was due before [t] is available at [t]. From [start] on
   all of the budget is there. *)
Definition replenished_in_time := forall t u, start <= t <= u ->
  (forall x, t <= x <= u -> ready x = true) ->
  (forall n, n < B -> avail n <= t) /\
  (forall n, avail n + T <= u -> avail (n + B) <= Nat.max (avail n + T) t).
Definition used_if_available := forall x, used x = true -> avail (uses x) <= x.

Hypothesis Bpos : 0 < B.
Hypothesis BW : B <= W.
Hypothesis WT : W <= T.
Hypothesis L : leaves taken B W.
Hypothesis S : sporadic_serves.
Hypothesis Rep : replenished_in_time.
Hypothesis UA : used_if_available.

(* Slots that were used before [t] were used at different times. *)
Lemma used_before t j : j < uses t -> avail j + (uses t - j) <= t.
Proof.
  unfold uses. induction t; simpl; [lia|]. destruct (used t) eqn:U; [|intros; rewrite Nat.add_0_r in *; specialize (IHt H); lia].
  intros H. pose proof (UA t U) as A. unfold uses in A.
  destruct (Nat.eq_dec j (cnt used 0 t)) as [->|]; [lia|]. specialize (IHt ltac:(lia)). lia.
Qed.

(* In a window in which the VCPU is ready, slot [m * B + j] is available in time. *)
Lemma available t u m j : start <= t <= u -> (forall x, t <= x <= u -> ready x = true) -> j < B ->
  t + m * T + (T - B + j) <= u -> avail (uses t + (m * B + j)) <= t + m * T + (T - B + j).
Proof.
  intros St Rd Lj. destruct (Rep t u St Rd) as [R1 R2]. induction m; intros U.
  - set (n := uses t + j). replace (uses t + (0 * B + j)) with n by (unfold n; lia).
    destruct (le_lt_dec B n).
    + replace n with ((n - B) + B) by lia.
      pose proof (used_before t (n - B) ltac:(unfold n in *; lia)).
      pose proof (R2 (n - B)). unfold n in *. lia.
    + pose proof (R1 n l). lia.
  - replace (uses t + (Datatypes.S m * B + j)) with (uses t + (m * B + j) + B) by lia.
    simpl in U. pose proof (R2 (uses t + (m * B + j))). lia.
Qed.

(* THE SUPPLY of a sporadic server, in any window in which its VCPU is ready. *)
Theorem sporadic_supply t w : start <= t -> (forall x, t <= x < t + w -> ready x = true) ->
  sbf B T W w <= cnt used t w.
Proof.
  intros St Rd. destruct (Nat.eq_dec w 0) as [->|W0].
  { unfold sbf. simpl. replace (stair B T 0) with (stair B T (0 * T + 0)) by now f_equal.
    rewrite stair_at by lia. lia. }
  (* The last time at which nothing is available. *)
  assert (X : exists f, t <= f <= t + w /\ (forall x, f <= x < t + w -> sporadic_contends x = true) /\
    (f = t \/ f < avail (uses f) + 1)).
  { assert (G : forall n, n <= w -> exists f, t <= f <= t + n /\
      (forall x, f <= x < t + n -> sporadic_contends x = true) /\ (f = t \/ f < avail (uses f) + 1)).
    { induction n; intros N.
      - exists t. split; [lia|]. split; [intros; lia|now left].
      - destruct IHn as [f [F1 [F2 F3]]]; [lia|]. destruct (sporadic_contends (t + n)) eqn:Q.
        + exists f. split; [lia|]. split; auto. intros x X.
          destruct (Nat.eq_dec x (t + n)) as [->|]; auto. apply F2. lia.
        + exists (t + Datatypes.S n). split; [lia|]. split; [intros; lia|right].
          unfold sporadic_contends in Q. rewrite Rd in Q by lia. simpl in Q. apply Nat.leb_gt in Q.
          unfold uses. replace (t + Datatypes.S n) with (Datatypes.S (t + n)) by lia. simpl.
          destruct (used (t + n)) eqn:U.
          * pose proof (UA _ U). lia.
          * rewrite Nat.add_0_r. fold (uses (t + n)). lia. }
    apply G. auto. }
  destruct X as [f [F1 [F2 F3]]]. set (n := t + w - f).
  assert (U : cnt (fun x => negb (taken x)) f n <= cnt used f n).
  { apply cnt_le. intros x X Fx. apply negb_true_iff in Fx. apply S; auto. apply F2. unfold n in X. lia. }
  pose proof (leaves_more taken B T W f n Bpos BW WT L) as M.
  rewrite (cnt_sub used t (f - t) w) by lia. replace (t + (f - t)) with f by lia.
  replace (w - (f - t)) with n by (unfold n; lia).
  set (v := cnt used t (f - t)).
  assert (Uf : uses f = uses t + v).
  { unfold uses, v. rewrite (cnt_sub used 0 t f) by lia. now rewrite Nat.add_0_l. }
  destruct (stair_split B v) as [m [j [Ev Ej]]]; [lia|].
  assert (Ff : f <= t + m * T + (T - B + j)).
  { destruct F3 as [->|F3]; [lia|]. rewrite Uf, Ev in F3.
    destruct (le_lt_dec (t + m * T + (T - B + j)) (t + w - 1)) as [U1|U1]; [|lia].
    pose proof (available t (t + w - 1) m j ltac:(lia) ltac:(intros; apply Rd; lia) Ej U1). lia. }
  unfold sbf. eapply Nat.le_trans; [apply (stair_mono B T _ (m * T + j + (n - (W - B)))); lia|].
  eapply Nat.le_trans; [apply stair_step; lia|]. lia.
Qed.
End Sporadic.
