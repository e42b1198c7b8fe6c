(* Supply: how many slots a VCPU gets for sure.

   [sbf B T W] is the supply bound function of the periodic resource model (Shin and Lee, RTSS 2003)
   for a server with budget [B] and period [T] that has its budget after [W] slots at the latest.
   The theorems say that the three kinds of servers supply as much: [replenished_supply] for
   periodic and deferrable servers, [sporadic_supply] for sporadic ones. They need one thing of the
   VCPUs above: [leaves], which [Servers.v] proves. [sporadic_uses] says how much a sporadic server takes
   from others. *)
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
(* A sporadic server has [B] slots of budget, and each of them has a time from which on it can be used:
   [due x j] is that of the [j]-th next one, from 0 on, as it is before slot [x]. The rules say nothing
   else of these times, so that a server may move them to later ones whenever its VCPU becomes ready:
   the hypervisor does when it joins replenishments. *)
Variables B T W start : nat.
Variables used ready taken : nat -> bool.
Variable due : nat -> nat -> nat.

Definition becomes_ready x := ready x = true /\ (x = 0 \/ ready (x - 1) = false).
Definition sporadic_contends x := ready x && (due x 0 <=? x).
Definition sporadic_serves :=
  forall x, sporadic_contends x = true -> taken x = false -> used x = true.

(* The times after slot [x], if no slot of budget is moved: one that was used in [x] becomes the last one,
   a period after the time from which on it could be used. *)
Definition put_back x j :=
  if used x then if Datatypes.S j =? B then due x 0 + T else due x (Datatypes.S j) else due x j.

(* For others: budget is used only if it can be, one slot after the other; what a VCPU did not use while
   it waited can be used from now on; and no time is earlier than it has to be. *)
Definition not_early :=
  (forall x, used x = true -> sporadic_contends x = true) /\
  (forall x j, Datatypes.S j < B -> due x j <= due x (Datatypes.S j)) /\
  (forall x, becomes_ready x -> x <= due x 0) /\
  (forall x j, j < B -> put_back x j <= due (Datatypes.S x) j).

(* For the supply: when the VCPU becomes ready, all slots of the budget fit one after the other between
   their times and the end of one period; and no time is later than it has to be while the VCPU stays
   ready. *)
Definition in_time := forall x, start <= x -> ready x = true ->
  (x = start \/ becomes_ready x -> forall j, j < B -> due x j + (B - j) <= x + T) /\
  (ready (Datatypes.S x) = true -> forall j, j < B -> due (Datatypes.S x) j <= put_back x j).

Hypothesis Bpos : 0 < B.
Hypothesis BW : B <= W.
Hypothesis WT : W <= T.

(* Nothing of what can be used in a window can be used before it if the server did not want the slot
   before: the slots of a budget are due in a period each. *)
Section NotEarly.
Hypothesis E : not_early.
Variable t : nat.

Let spread n := forall j m r, j < B -> r < B -> cnt used t n + j = m * B + r -> t + m * T <= due (t + n) j.
Let asleep n := 0 < t /\ forall y, t <= Datatypes.S y <= t + n -> ready y = false.

Lemma spread_from n : cnt used t n = 0 -> t <= due (t + n) 0 -> spread n.
Proof.
  destruct E as [_ [O _]]. intros Z D j m r Lj Lr Q. rewrite Z in Q.
  assert (m = 0) by nia. subst m.
  assert (G : forall i, i < B -> due (t + n) 0 <= due (t + n) i).
  { induction i; intros; [lia|]. pose proof (O (t + n) i). lia. }
  pose proof (G j Lj). lia.
Qed.

Lemma spread_awake n : asleep n -> ready (t + n) = true -> spread n.
Proof.
  destruct E as [U [_ [R _]]]. intros [P A] Rn. apply spread_from.
  - apply cnt_none. intros x X. destruct (used x) eqn:Ux; auto. apply U in Ux.
    unfold sporadic_contends in Ux. rewrite A in Ux by lia. discriminate.
  - assert (t + n <= due (t + n) 0); [|lia]. apply R. split; auto. right. apply A. lia.
Qed.

Hypothesis Calm : t = 0 \/ sporadic_contends (t - 1) = false.

Lemma spread_or_asleep n : asleep n \/ spread n.
Proof.
  destruct E as [U [O [R P]]]. induction n.
  - destruct (Nat.eq_dec t 0) as [Et|Et]; [right; apply spread_from; [reflexivity|lia]|].
    destruct Calm as [|C]; [lia|]. destruct (ready (t - 1)) eqn:Rx.
    + right. apply spread_from; [reflexivity|]. pose proof (P (t - 1) 0 Bpos) as Q.
      replace (Datatypes.S (t - 1)) with (t + 0) in Q by lia. unfold put_back in Q.
      destruct (used (t - 1)) eqn:Ux; [apply U in Ux; congruence|].
      unfold sporadic_contends in C. rewrite Rx in C. simpl in C. apply Nat.leb_gt in C. lia.
    + left. split; [lia|]. intros y Y. now replace y with (t - 1) by lia.
  - assert (D : spread n \/ asleep n /\ ready (t + n) = false).
    { destruct IHn as [H|H]; auto. destruct (ready (t + n)) eqn:Rn; auto. left. now apply spread_awake. }
    destruct D as [D|[[A1 A2] Rn]].
    + right. intros j m r Lj Lr Q. rewrite Nat.add_succ_r. pose proof (P (t + n) j Lj) as F.
      unfold put_back in F. cbn [cnt] in Q. destruct (used (t + n)).
      * destruct (Nat.eqb_spec (Datatypes.S j) B) as [Ej|Ej].
        -- destruct m as [|m]; [nia|]. pose proof (D 0 m r Bpos Lr ltac:(simpl in Q; lia)). simpl. lia.
        -- pose proof (D (Datatypes.S j) m r ltac:(lia) Lr ltac:(lia)). lia.
      * pose proof (D j m r Lj Lr ltac:(lia)). lia.
    + left. split; auto. intros y Y. destruct (Nat.eq_dec y (t + n)) as [->|]; auto. apply A2. lia.
Qed.

(* INTERFERENCE of a sporadic server. *)
Theorem sporadic_uses w : cnt used t w <= ceil w T * B.
Proof.
  pose proof (ceil_covers w T ltac:(lia)) as M. set (m := ceil w T) in *.
  destruct (le_lt_dec (cnt used t w) (m * B)) as [|G]; auto. exfalso.
  destruct (cnt_reaches used t w (m * B) G) as [n [Ln [Cn Un]]].
  pose proof (proj1 E _ Un) as C. unfold sporadic_contends in C. apply andb_true_iff in C.
  destruct C as [Rn Du]. apply Nat.leb_le in Du.
  assert (D : spread n) by (destruct (spread_or_asleep n); auto; now apply spread_awake).
  pose proof (D 0 m 0 Bpos Bpos ltac:(lia)). lia.
Qed.
End NotEarly.

Section InTime.
Hypothesis L : leaves taken B W.
Hypothesis S : sporadic_serves.
Hypothesis U : forall x, used x = true -> sporadic_contends x = true.
Hypothesis I : in_time.

Lemma used_when_due x : used x = true -> due x 0 <= x.
Proof.
  intros Q. apply U in Q. unfold sporadic_contends in Q. apply andb_true_iff in Q. now apply Nat.leb_le.
Qed.

(* What holds when the VCPU becomes ready holds while it stays ready. *)
Lemma fits t : start <= t -> ready t = true -> forall j, j < B -> due t j + (B - j) <= t + T.
Proof.
  induction t as [|x IH]; intros St Rt.
  - apply (I 0); auto. right. split; auto.
  - destruct (Nat.eq_dec (Datatypes.S x) start) as [Q|Q]; [apply I; auto|].
    destruct (ready x) eqn:Rx.
    2: { apply I; auto. right. split; auto. right. now replace (Datatypes.S x - 1) with x by lia. }
    specialize (IH ltac:(lia) eq_refl). intros j Lj.
    pose proof (proj2 (I x ltac:(lia) Rx) Rt j Lj) as P. unfold put_back in P. destruct (used x) eqn:Ux.
    + pose proof (used_when_due x Ux). destruct (Nat.eqb_spec (Datatypes.S j) B); [lia|].
      pose proof (IH (Datatypes.S j) ltac:(lia)). lia.
    + pose proof (IH j Lj). lia.
Qed.

(* In a window in which the VCPU is ready, slot [m * B + r] of it is due in time. *)
Lemma due_in_time t n : start <= t -> (forall x, t <= x <= t + n -> ready x = true) ->
  forall j m r, j < B -> r < B -> cnt used t n + j = m * B + r -> due (t + n) j <= t + m * T + (T - B + r).
Proof.
  intros St. induction n; intros Rd j m r Lj Lr Q.
  - simpl in Q. assert (m = 0) by nia. subst m. rewrite Nat.add_0_r.
    pose proof (fits t St (Rd t ltac:(lia)) j Lj). lia.
  - assert (R0 : ready (t + n) = true) by (apply Rd; lia).
    assert (R1 : ready (Datatypes.S (t + n)) = true) by (apply Rd; lia).
    specialize (IHn ltac:(intros; apply Rd; lia)). rewrite Nat.add_succ_r.
    pose proof (proj2 (I (t + n) ltac:(lia) R0) R1 j Lj) as P.
    unfold put_back in P. cbn [cnt] in Q. destruct (used (t + n)).
    + destruct (Nat.eqb_spec (Datatypes.S j) B).
      * destruct m as [|m]; [nia|]. pose proof (IHn 0 m r Bpos Lr ltac:(simpl in Q; lia)). simpl. lia.
      * pose proof (IHn (Datatypes.S j) m r ltac:(lia) Lr ltac:(lia)). lia.
    + pose proof (IHn j m r Lj Lr ltac:(lia)). lia.
Qed.

(* THE SUPPLY of a sporadic server, in any window in which its VCPU is ready. *)
Theorem sporadic_supply t w : start <= t -> (forall x, t <= x < t + w -> ready x = true) ->
  sbf B T W w <= cnt used t w.
Proof.
  intros St Rd. destruct (Nat.eq_dec w 0) as [->|W0].
  { unfold sbf. simpl. replace (stair B T 0) with (stair B T (0 * T + 0)) by now f_equal.
    rewrite stair_at by lia. lia. }
  (* From [t + f] on the server contends, and the slot before is the last in which nothing is due. *)
  assert (X : forall n, n <= w -> exists f, f <= n /\
    (forall x, t + f <= x < t + n -> sporadic_contends x = true) /\
    (f = 0 \/ exists g, f = Datatypes.S g /\ t + f <= due (t + g) 0 /\ used (t + g) = false)).
  { induction n; intros N.
    - exists 0. repeat split; auto. intros; lia.
    - destruct IHn as [f [F1 [F2 F3]]]; [lia|]. destruct (sporadic_contends (t + n)) eqn:Q.
      + exists f. repeat split; auto. intros x X.
        destruct (Nat.eq_dec x (t + n)) as [->|]; auto. apply F2. lia.
      + exists (Datatypes.S n). repeat split; auto; [intros; lia|]. right. exists n. split; auto. split.
        * unfold sporadic_contends in Q. rewrite Rd in Q by lia. simpl in Q. apply Nat.leb_gt in Q. lia.
        * destruct (used (t + n)) eqn:Un; auto. apply U in Un. congruence. }
  destruct (X w (le_n _)) as [f [F1 [F2 F3]]]. set (n := w - f).
  assert (G : cnt (fun x => negb (taken x)) (t + f) n <= cnt used (t + f) n).
  { apply cnt_le. intros x X' Fx. apply negb_true_iff in Fx. apply S; auto. apply F2. unfold n in X'. lia. }
  pose proof (leaves_more taken B T W (t + f) n Bpos BW WT L) as M.
  rewrite (cnt_sub used t f w) by auto. fold n. set (v := cnt used t f) in *.
  destruct (stair_split B v) as [m [r [Ev Er]]]; [lia|].
  assert (Ff : f <= m * T + (T - B + r)).
  { destruct F3 as [->|[g [-> [F3 F4]]]]; [lia|].
    pose proof (due_in_time t g St ltac:(intros; apply Rd; lia) 0 m r Bpos Er) as D.
    unfold v in Ev. cbn [cnt] in Ev. rewrite F4 in Ev. lia. }
  unfold sbf. eapply Nat.le_trans; [apply (stair_mono B T _ (m * T + r + (n - (W - B)))); unfold n in *; lia|].
  eapply Nat.le_trans; [apply stair_step; lia|]. lia.
Qed.
End InTime.
End Sporadic.
