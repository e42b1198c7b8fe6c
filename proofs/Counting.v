(* Counting slots of time, and sums.

   Time is a sequence of slots, numbered from 0. A slot is one nanosecond where these files are used
   for a described system, but no proof needs that. [cnt p t n] is the number of slots in
   [[t, t + n)] that have the property [p]; Prosa calls such sums [service_during]. *)
From Coq Require Import Arith Lia Bool List.

Fixpoint cnt (p : nat -> bool) (t n : nat) : nat :=
  match n with 0 => 0 | S m => cnt p t m + (if p (t + m) then 1 else 0) end.

Fixpoint sum (f : nat -> nat) (n : nat) : nat :=
  match n with 0 => 0 | S m => sum f m + f m end.

(* The least number of parts of length [b] that cover [a]: [a / b], rounded up. *)
Definition ceil (a b : nat) : nat := (a + b - 1) / b.

Lemma ceil_covers a b : 0 < b -> a <= ceil a b * b.
Proof.
  intros P. unfold ceil. pose proof (Nat.div_mod (a + b - 1) b).
  pose proof (Nat.mod_upper_bound (a + b - 1) b). nia.
Qed.

Lemma ceil_least a b n : 0 < b -> a <= n * b -> ceil a b <= n.
Proof.
  intros P H. unfold ceil. assert ((a + b - 1) / b < S n); [|lia].
  apply Nat.div_lt_upper_bound; nia.
Qed.

Lemma ceil_mono a a' b : 0 < b -> a <= a' -> ceil a b <= ceil a' b.
Proof. intros P H. apply ceil_least; auto. pose proof (ceil_covers a' b P). lia. Qed.

Lemma cnt_add p t n m : cnt p t (n + m) = cnt p t n + cnt p (t + n) m.
Proof.
  induction m; simpl.
  - rewrite Nat.add_0_r; lia.
  - rewrite Nat.add_succ_r; simpl; rewrite IHm; rewrite Nat.add_assoc; lia.
Qed.

Lemma cnt_sub p t n m : n <= m -> cnt p t m = cnt p t n + cnt p (t + n) (m - n).
Proof. intros. rewrite <- cnt_add. f_equal. lia. Qed.

Lemma cnt_max p t n : cnt p t n <= n.
Proof. induction n; simpl; [lia|]. destruct (p (t + n)); lia. Qed.

Lemma cnt_longer p t n m : n <= m -> cnt p t n <= cnt p t m.
Proof. intros. rewrite (cnt_sub p t n m) by auto. lia. Qed.

Lemma cnt_le p q t n :
  (forall x, t <= x < t + n -> p x = true -> q x = true) -> cnt p t n <= cnt q t n.
Proof.
  induction n; simpl; intros H; [lia|].
  assert (cnt p t n <= cnt q t n) by (apply IHn; intros; apply H; auto; lia).
  destruct (p (t + n)) eqn:E; [|lia]. rewrite (H (t + n)); auto; lia.
Qed.

Lemma cnt_ext p q t n : (forall x, t <= x < t + n -> p x = q x) -> cnt p t n = cnt q t n.
Proof.
  induction n; simpl; intros H; auto. rewrite IHn, (H (t + n)); auto; try lia.
  intros; apply H; lia.
Qed.

Lemma cnt_or p q t n : cnt (fun x => p x || q x) t n <= cnt p t n + cnt q t n.
Proof. induction n; simpl; [lia|]. destruct (p (t + n)), (q (t + n)); simpl; lia. Qed.

Lemma cnt_not p t n : cnt p t n + cnt (fun x => negb (p x)) t n = n.
Proof. induction n; simpl; [lia|]. destruct (p (t + n)); simpl; lia. Qed.

Lemma cnt_none p t n : (forall x, t <= x < t + n -> p x = false) -> cnt p t n = 0.
Proof.
  induction n; simpl; intros H; auto. rewrite IHn by (intros; apply H; lia).
  now rewrite (H (t + n)) by lia.
Qed.

Lemma cnt_all p t n : (forall x, t <= x < t + n -> p x = true) -> cnt p t n = n.
Proof.
  induction n; simpl; intros H; auto. rewrite IHn by (intros; apply H; lia).
  rewrite (H (t + n)) by lia. lia.
Qed.

Lemma cnt_some p t n : 0 < cnt p t n -> exists x, t <= x < t + n /\ p x = true.
Proof.
  induction n; simpl; intros H; [lia|]. destruct (p (t + n)) eqn:E.
  - exists (t + n). split; auto. lia.
  - destruct IHn as [x [X Q]]; [lia|]. exists x. split; auto. lia.
Qed.

(* A count takes all values on its way. *)
Lemma cnt_reaches p t w v : v < cnt p t w -> exists n, n < w /\ cnt p t n = v /\ p (t + n) = true.
Proof.
  induction w; simpl; intros H; [lia|]. destruct (le_lt_dec (cnt p t w) v) as [L|L].
  - exists w. destruct (p (t + w)) eqn:E; [|lia]. repeat split; auto. lia.
  - destruct (IHw L) as [n [N Q]]. exists n. split; auto.
Qed.

Lemma sum_ext f g n : (forall d, d < n -> f d <= g d) -> sum f n <= sum g n.
Proof.
  induction n; simpl; intros H; auto.
  assert (sum f n <= sum g n) by (apply IHn; intros; apply H; lia).
  specialize (H n); lia.
Qed.

Lemma sum_eq f g n : (forall d, d < n -> f d = g d) -> sum f n = sum g n.
Proof. induction n; simpl; intros H; auto. rewrite IHn, (H n); auto. Qed.

Lemma sum_const c n : sum (fun _ => c) n = n * c.
Proof. induction n; simpl; lia. Qed.

Lemma sum_lt f g n d : (forall d, d < n -> f d <= g d) -> d < n -> f d < g d -> sum f n < sum g n.
Proof.
  induction n; simpl; intros H L S; [lia|]. assert (Hn : f n <= g n) by (apply H; lia).
  destruct (Nat.eq_dec d n) as [->|].
  - assert (sum f n <= sum g n) by (apply sum_ext; intros; apply H; lia). lia.
  - assert (sum f n < sum g n) by (apply IHn; auto; try (intros; apply H; lia); lia). lia.
Qed.

Lemma sum_plus f g n : sum (fun d => f d + g d) n = sum f n + sum g n.
Proof. induction n; simpl; lia. Qed.

Lemma sum_ge f n d : d < n -> f d <= sum f n.
Proof.
  induction n; simpl; intros; [lia|]. destruct (Nat.eq_dec d n) as [->|]; [lia|].
  assert (f d <= sum f n) by (apply IHn; lia). lia.
Qed.

(* One term of a sum by itself. *)
Lemma sum_pick f i n : i < n -> sum f n = sum (fun d => if d =? i then 0 else f d) n + f i.
Proof.
  induction n; simpl; intros L; [lia|]. destruct (Nat.eqb_spec n i) as [->|].
  - rewrite (sum_eq (fun d => if d =? i then 0 else f d) f i); [lia|]. intros d D.
    destruct (Nat.eqb_spec d i); lia.
  - rewrite IHn by lia. lia.
Qed.

(* If each slot with [p] is one of the slots that [f] assigns to [N] owners, then there are no more
   slots with [p] than the owners have together. *)
Lemma split p (f : nat -> nat -> bool) t w N :
  (forall x, t <= x < t + w -> p x = true -> exists d, d < N /\ f d x = true) ->
  cnt p t w <= sum (fun d => cnt (f d) t w) N.
Proof.
  induction w; simpl; intros H; [lia|]. rewrite sum_plus.
  assert (cnt p t w <= sum (fun d => cnt (f d) t w) N) by (apply IHw; intros; apply H; auto; lia).
  destruct (p (t + w)) eqn:E; [|lia]. destruct (H (t + w)) as [d [L F]]; auto; [lia|].
  pose proof (sum_ge (fun d => if f d (t + w) then 1 else 0) N d L) as G. simpl in G.
  rewrite F in G. lia.
Qed.

Lemma least (P : nat -> Prop) (dec : forall n, {P n} + {~ P n}) m :
  P m -> exists a, a <= m /\ P a /\ forall k, k < a -> ~ P k.
Proof.
  induction m as [m IH] using lt_wf_ind. intros H.
  destruct (Exists_dec (fun k => P k) (seq 0 m) dec) as [E|E].
  - apply Exists_exists in E. destruct E as [k [I K]]. apply in_seq in I.
    destruct (IH k) as [a [A1 [A2 A3]]]; auto; [lia|]. exists a; repeat split; auto; lia.
  - exists m; repeat split; auto. intros k K Q. apply E. apply Exists_exists.
    exists k; split; auto. apply in_seq; lia.
Qed.
