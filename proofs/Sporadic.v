(* The sporadic server of the hypervisor, and why it follows the rules.

   [Supply.v] has the rules of sporadic servers: [not_early] and [in_time]. This file has one server
   that follows them: what the code does, slot by slot of the budget, joins of replenishments included
   (crates/policy/src/server/sporadic.rs). [server_not_early] and [server_in_time] hold in any course
   of events. [Traces.v] compares the server with the code. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Supply.
Import ListNotations.

Local Open Scope N_scope.

(* A queue has the times from which on the slots of the budget can be used, the first one in front. *)
Definition sorted (l : list N) := forall j, (S j < length l)%nat -> nth j l 0 < nth (S j) l 0.

(* No slot can be used before [from], and two slots not at the same time. *)
Fixpoint lay (from : N) (l : list N) : list N :=
  match l with [] => [] | d :: r => let e := N.max d from in e :: lay (e + 1) r end.

(* Slots that follow each other are one replenishment; between two of them is a gap. *)
Fixpoint gaps (l : list N) : N :=
  match l with
  | d :: r => match r with e :: _ => if d + 1 =? e then gaps r else gaps r + 1 | [] => 0 end
  | [] => 0
  end.

(* The last two replenishments are joined: those slots that have one gap behind them can be used later,
   and the joined replenishment ends where the last one ended. *)
Fixpoint join (l : list N) : list N :=
  match l with
  | [] => []
  | d :: r => (if gaps l =? 1 then last r d - N.of_nat (length r) else d) :: join r
  end.

(* The VCPU becomes ready. More than [most] replenishments are one too many. *)
Definition wake (most now : N) (l : list N) :=
  let l := lay now l in if most <? gaps l + 1 then join l else l.

(* The first slot of the budget is used. What could have been used for so long that it would meet its own
   replenishment is lost. *)
Definition use (B T now : N) (l : list N) :=
  match lay (now + B - T) l with [] => [] | d :: r => r ++ [d + T] end.

(* All of the budget. *)
Definition full (B : N) := map N.of_nat (seq 0 (N.to_nat B)).

(** * What these functions do to a queue *)

Lemma sorted_tail d r : sorted (d :: r) -> sorted r.
Proof. intros S j L. apply (S (Datatypes.S j)). simpl. lia. Qed.

Lemma sorted_head d r j : sorted (d :: r) -> (j < length r)%nat -> d + 1 + N.of_nat j <= nth j r 0.
Proof.
  intros S. induction j; intros L.
  - pose proof (S 0%nat) as Q. simpl in Q. destruct r; simpl in *; lia.
  - pose proof (S (Datatypes.S j)) as Q. simpl in Q. specialize (IHj ltac:(lia)). lia.
Qed.

Lemma sorted_from l j : sorted l -> (j < length l)%nat -> nth 0 l 0 + N.of_nat j <= nth j l 0.
Proof.
  intros S L. destruct l as [|d r]; [simpl in L; lia|]. destruct j as [|j]; [simpl; lia|].
  pose proof (sorted_head d r j S ltac:(simpl in L; lia)). simpl. lia.
Qed.

Lemma sorted_last l j : sorted l -> (j < length l)%nat ->
  nth j l 0 + N.of_nat (length l - 1 - j) <= nth (length l - 1) l 0.
Proof.
  intros S L. remember (length l - 1 - j)%nat as k eqn:Ek. revert j L Ek. induction k; intros.
  - replace (length l - 1)%nat with j by lia. lia.
  - pose proof (S j ltac:(lia)). specialize (IHk (Datatypes.S j) ltac:(lia) ltac:(lia)). lia.
Qed.

Lemma lay_length l : forall from, length (lay from l) = length l.
Proof. induction l; intros; simpl; auto. Qed.

Lemma lay_nth l : forall from j, sorted l -> (j < length l)%nat ->
  nth j (lay from l) 0 = N.max (nth j l 0) (from + N.of_nat j).
Proof.
  induction l as [|d r IH]; intros from j S L; [simpl in L; lia|]. simpl in L. cbn [lay].
  destruct j as [|j]; simpl nth; [lia|]. rewrite IH by (try lia; eapply sorted_tail; eauto).
  pose proof (sorted_head d r j S ltac:(lia)). lia.
Qed.

Lemma lay_sorted l from : sorted l -> sorted (lay from l).
Proof.
  intros S j L. rewrite lay_length in L. rewrite !lay_nth by (auto; lia). pose proof (S j L). lia.
Qed.

Lemma last_nth (r : list N) : forall d, last r d = nth (length r) (d :: r) 0.
Proof. induction r as [|e r IH]; intros d; auto. change (last (e :: r) d) with (match r with [] => e | _ => last r d end).
  destruct r as [|f r]; auto. specialize (IH d). cbn [length nth] in *. auto. Qed.

Lemma no_gap l j : gaps l = 0 -> (j < length l)%nat -> nth j l 0 = nth 0 l 0 + N.of_nat j.
Proof.
  revert j. induction l as [|d r IH]; intros j G L; [simpl in L; lia|].
  destruct j as [|j]; [simpl; lia|]. destruct r as [|e r]; [simpl in L; lia|]. cbn [gaps] in G.
  destruct (N.eqb_spec (d + 1) e); [|lia]. specialize (IH j G ltac:(simpl in *; lia)).
  change (nth (S j) (d :: e :: r) 0) with (nth j (e :: r) 0). rewrite IH. simpl. lia.
Qed.

Lemma join_length l : length (join l) = length l.
Proof. induction l; simpl; auto. Qed.

Lemma join_later l : forall j, sorted l -> (j < length l)%nat -> nth j l 0 <= nth j (join l) 0.
Proof.
  induction l as [|d r IH]; intros j S L; [simpl in L; lia|]. cbn [join].
  destruct j as [|j]; [|apply IH; [eapply sorted_tail; eauto|simpl in L; lia]].
  change (d <= if gaps (d :: r) =? 1 then last r d - N.of_nat (length r) else d).
  destruct (_ =? 1); [|lia]. rewrite last_nth.
  pose proof (sorted_last (d :: r) 0 S ltac:(simpl; lia)) as Q.
  simpl length in Q. replace (Datatypes.S (length r) - 1)%nat with (length r) in Q by lia.
  change (nth 0 (d :: r) 0) with d in Q. lia.
Qed.

Lemma join_last l : l <> [] -> nth (length l - 1) (join l) 0 = nth (length l - 1) l 0.
Proof.
  induction l as [|d r IH]; intros E; [congruence|]. destruct r as [|e r]; [reflexivity|].
  specialize (IH ltac:(discriminate)). cbn [length] in *.
  replace (S (S (length r)) - 1)%nat with (S (S (length r) - 1)) by lia. exact IH.
Qed.

Lemma join_sorted l : sorted l -> sorted (join l).
Proof.
  induction l as [|d r IH]; intros S j L; [simpl in L; lia|].
  pose proof (sorted_tail d r S) as Sr. cbn [join] in *.
  destruct j as [|j]; [|apply (IH Sr); simpl in L; lia].
  cbn [length] in L. rewrite join_length in L.
  assert (Lr : (0 < length r)%nat) by lia.
  change (nth 0 (?a :: ?b) 0) with a. change (nth 1 (?a :: ?b) 0) with (nth 0 b 0).
  pose proof (join_later r 0 Sr Lr) as J. pose proof (sorted_head d r 0 S Lr) as H.
  destruct (N.eqb_spec (gaps (d :: r)) 1) as [G|G]; [|lia].
  pose proof (sorted_last (d :: r) 0 S ltac:(simpl; lia)) as Q.
  pose proof (sorted_last r 0 Sr Lr) as Q'. rewrite last_nth.
  destruct r as [|e r]; [simpl in Lr; lia|]. cbn [length] in *.
  replace (Datatypes.S (Datatypes.S (length r)) - 1)%nat with (Datatypes.S (length r)) in Q by lia.
  replace (Datatypes.S (length r) - 1)%nat with (length r) in Q' by lia.
  change (nth (Datatypes.S (length r)) (d :: e :: r) 0) with (nth (length r) (e :: r) 0) in *.
  cbn [nth] in H, J, Q. cbn [join nth] in *.
  change (gaps (d :: e :: r)) with (if d + 1 =? e then gaps (e :: r) else gaps (e :: r) + 1) in G.
  destruct (N.eqb_spec (gaps (e :: r)) 1) as [G'|G'].
  - rewrite last_nth. cbn [nth]. lia.
  - revert G. destruct (N.eqb_spec (d + 1) e) as [|_]; intros G; [lia|].
    pose proof (no_gap (e :: r) (length r) ltac:(lia) ltac:(simpl; lia)) as N0.
    cbn [nth] in N0. lia.
Qed.

(** * The server in any course of events *)

Section Server.
Variables most B T : N.
Hypothesis Bpos : 0 < B.
Hypothesis BT : B <= T.
Variables used ready : nat -> bool.

(* The VCPU does not wait any more. *)
Definition wakes x := ready x && negb (match x with 0%nat => false | S y => ready y end).

(* The queue before slot [x] is used. *)
Fixpoint queue (x : nat) : list N :=
  let q := match x with
           | 0%nat => full B
           | S y => if used y then use B T (N.of_nat y) (queue y) else queue y
           end in
  if wakes x then wake most (N.of_nat x) q else q.

Definition due x j := N.to_nat (nth j (queue x) 0).

(* Budget is used only if there is some. *)
Hypothesis Uses : forall x, used x = true -> ready x = true /\ nth 0 (queue x) 0 <= N.of_nat x.

Let b := N.to_nat B.
Let t := N.to_nat T.

(* The slots can be used one after the other, all before the first one comes again, and within a period. *)
Record kept (x : N) (q : list N) : Prop := {
  k_length : length q = b;
  k_sorted : sorted q;
  k_span : nth (b - 1) q 0 < nth 0 q 0 + T;
  k_fits : nth (b - 1) q 0 < x + T }.

Lemma full_nth j : (j < b)%nat -> nth j (full B) 0 = N.of_nat j.
Proof.
  intros L. unfold full. change 0 with (N.of_nat 0). rewrite map_nth, seq_nth by (unfold b in L; lia). lia.
Qed.

Lemma full_kept : kept 0 (full B).
Proof.
  assert (Lf : length (full B) = b) by (unfold full, b; now rewrite map_length, seq_length).
  assert (0 < b)%nat by (unfold b; lia). assert (N.of_nat b <= T) by (unfold b; lia).
  constructor; auto.
  - intros j L. rewrite Lf in L. rewrite !full_nth by lia. lia.
  - rewrite !full_nth by lia. lia.
  - rewrite !full_nth by lia. lia.
Qed.

Lemma lay_kept x from q : from + B <= x + T -> kept x q -> kept x (lay from q).
Proof.
  intros F [L S Sp Fi]. assert (0 < b)%nat by (unfold b; lia). assert (N.of_nat b = B) by (unfold b; lia).
  constructor; rewrite ?lay_length, ?lay_nth by (auto; lia); auto; try lia. now apply lay_sorted.
Qed.

Lemma wake_kept x q : kept x q -> kept x (wake most x q).
Proof.
  intros K. unfold wake. assert (K' : kept x (lay x q)) by (apply lay_kept; auto; lia).
  destruct (most <? _); auto. destruct K' as [L S Sp Fi]. assert (0 < b)%nat by (unfold b; lia).
  pose proof (join_last (lay x q)) as J. rewrite L in J.
  specialize (J ltac:(intros E; rewrite E in L; simpl in L; lia)).
  pose proof (join_later (lay x q) 0 S ltac:(lia)).
  constructor; try (rewrite join_length; auto); try (now apply join_sorted); lia.
Qed.

Lemma wake_later x q j : kept x q -> (j < b)%nat -> nth j q 0 <= nth j (wake most x q) 0.
Proof.
  intros [L S _ _] J. unfold wake.
  assert (A : nth j q 0 <= nth j (lay x q) 0) by (rewrite lay_nth by (auto; lia); lia).
  destruct (most <? _); auto. pose proof (join_later (lay x q) j (lay_sorted q x S) ltac:(rewrite lay_length; lia)). lia.
Qed.

Lemma wake_from x q : kept x q -> x <= nth 0 (wake most x q) 0.
Proof.
  intros [L S _ _]. assert (0 < b)%nat by (unfold b; lia). unfold wake.
  assert (A : x <= nth 0 (lay x q) 0) by (rewrite lay_nth by (auto; lia); lia).
  destruct (most <? _); auto. pose proof (join_later (lay x q) 0 (lay_sorted q x S) ltac:(rewrite lay_length; lia)). lia.
Qed.

Lemma use_nth x q j : length q = b -> (j < b)%nat -> nth j (use B T x q) 0
  = if (S j =? b)%nat then nth 0 (lay (x + B - T) q) 0 + T else nth (S j) (lay (x + B - T) q) 0.
Proof.
  intros L J. unfold use. pose proof (lay_length q (x + B - T)) as M.
  destruct (lay (x + B - T) q) as [|d r] eqn:E; [simpl in M; lia|]. simpl in M.
  destruct (Nat.eqb_spec (S j) b).
  - rewrite app_nth2 by lia. replace (j - length r)%nat with 0%nat by lia. reflexivity.
  - rewrite app_nth1 by lia. reflexivity.
Qed.

Lemma use_length x q : length q = b -> length (use B T x q) = b.
Proof.
  intros L. unfold use. pose proof (lay_length q (x + B - T)) as M.
  destruct (lay (x + B - T) q); simpl in M; [unfold b in *; lia|]. rewrite app_length. simpl. lia.
Qed.

Lemma use_kept x q : nth 0 q 0 <= x -> kept x q -> kept (x + 1) (use B T x q).
Proof.
  intros H K. assert (P : (0 < b)%nat) by (unfold b; lia).
  assert (F : nth 0 (lay (x + B - T) q) 0 <= x).
  { destruct K as [L S _ _]. rewrite lay_nth by (auto; lia). lia. }
  assert (Lq : length q = b) by (apply (k_length x q K)).
  destruct (lay_kept x (x + B - T) q) as [L S Sp Fi]; [lia|auto|].
  constructor; [now apply use_length| | |].
  - intros j J. rewrite use_length in J by auto. rewrite !use_nth by (auto; lia).
    destruct (Nat.eqb_spec (Datatypes.S j) b); [lia|].
    destruct (Nat.eqb_spec (Datatypes.S (Datatypes.S j)) b) as [E|].
    + replace (b - 1)%nat with (Datatypes.S j) in Sp by lia. lia.
    + apply S. lia.
  - rewrite !use_nth by (auto; lia). replace (Datatypes.S (b - 1)) with b by lia. rewrite Nat.eqb_refl.
    destruct (Nat.eqb_spec 1 b); [lia|]. pose proof (S 0%nat ltac:(lia)). lia.
  - rewrite !use_nth by (auto; lia). replace (Datatypes.S (b - 1)) with b by lia. rewrite Nat.eqb_refl. lia.
Qed.

Lemma later_kept x q : kept x q -> kept (x + 1) q.
Proof. intros [L S Sp Fi]. constructor; auto. lia. Qed.

(* What is left after slot [x]. *)
Definition left x := if used x then use B T (N.of_nat x) (queue x) else queue x.

Lemma queue_next x : queue (S x) = if wakes (S x) then wake most (N.of_nat (S x)) (left x) else left x.
Proof. reflexivity. Qed.

Lemma queue_kept x : kept (N.of_nat x) (queue x) /\ kept (N.of_nat (S x)) (left x).
Proof.
  assert (A : forall x, kept (N.of_nat x) (queue x) -> kept (N.of_nat (S x)) (left x)).
  { clear x. intros x K. unfold left. replace (N.of_nat (S x)) with (N.of_nat x + 1) by lia.
    destruct (used x) eqn:U; [|now apply later_kept]. apply use_kept; auto. now apply Uses. }
  assert (Q : kept (N.of_nat x) (queue x)); [|split; auto].
  induction x.
  - cbn [queue]. destruct (wakes 0); [apply wake_kept|]; apply full_kept.
  - rewrite queue_next. destruct (wakes (S x)); [apply wake_kept|]; auto.
Qed.

Lemma left_later x j : (j < b)%nat -> (put_back b t used due x j <= N.to_nat (nth j (left x) 0%N))%nat.
Proof.
  intros J. destruct (queue_kept x) as [[L S _ _] _]. unfold put_back, left, due, t. destruct (used x); [|lia].
  rewrite use_nth by auto. destruct (Nat.eqb_spec (Datatypes.S j) b); rewrite lay_nth by (auto; lia); lia.
Qed.

(* THE SERVER follows the rules on which others rely. *)
Theorem server_not_early : not_early b t used ready due.
Proof.
  assert (P : (0 < b)%nat) by (unfold b; lia). repeat split.
  - intros x U. destruct (Uses x U) as [R D]. unfold sporadic_contends. rewrite R. simpl.
    apply Nat.leb_le. unfold due. lia.
  - intros x j J. destruct (queue_kept x) as [[L S _ _] _]. pose proof (S j ltac:(lia)). unfold due. lia.
  - intros x [R W]. assert (E : wakes x = true).
    { unfold wakes. rewrite R. destruct x; auto. destruct W as [|W]; [lia|].
      replace (S x - 1)%nat with x in W by lia. now rewrite W. }
    unfold due. destruct x as [|x]; [lia|]. rewrite queue_next, E.
    pose proof (wake_from (N.of_nat (S x)) (left x) (proj2 (queue_kept x))). lia.
  - intros x j J. eapply Nat.le_trans; [now apply left_later|]. unfold due. rewrite queue_next.
    destruct (wakes (S x)); [|lia].
    pose proof (wake_later (N.of_nat (S x)) (left x) j (proj2 (queue_kept x)) J). lia.
Qed.

(* It also follows those on which its VCPU relies, if it loses nothing. *)
Theorem server_in_time : (forall x, used x = true -> N.of_nat x + B <= nth 0 (queue x) 0 + T) ->
  in_time b t 0 used ready due.
Proof.
  intros NL x _ R. destruct (queue_kept x) as [[L S Sp Fi] _]. split.
  - intros _ j J. pose proof (sorted_last (queue x) j S ltac:(lia)) as Q. rewrite L in Q. unfold due, t. lia.
  - intros Rn j J. unfold due at 1. rewrite queue_next. unfold wakes. rewrite R, andb_false_r.
    unfold left, put_back, due, t. destruct (used x) eqn:U; [|lia]. pose proof (NL x U) as N0.
    rewrite use_nth by auto.
    destruct (Nat.eqb_spec (Datatypes.S j) b); rewrite lay_nth by (auto; lia); [lia|].
    pose proof (sorted_from (queue x) (Datatypes.S j) S ltac:(lia)). lia.
Qed.

(* If those above leave the VCPU its budget within a period, nothing is lost. *)
Section Served.
Variable W : nat.
Variable taken : nat -> bool.
Hypothesis BW : (b <= W)%nat.
Hypothesis WT : (W <= t)%nat.
Hypothesis L : leaves taken b W.
Hypothesis S : sporadic_serves used ready taken due.

Local Open Scope nat_scope.

(* How far the first time moves while budget is used. *)
Lemma due_moves x n : forall j m r, j < b -> r < b -> cnt used x n + j = m * b + r ->
  due x 0 + m * t + r <= due (x + n) j.
Proof.
  assert (P : 0 < b) by (unfold b; lia). destruct server_not_early as [_ [_ [_ E]]].
  induction n; intros j m r Lj Lr Q.
  - cbn [cnt] in Q. assert (m = 0) by nia. subst m. destruct (queue_kept x) as [[Lq Sq _ _] _].
    pose proof (sorted_from (queue x) j Sq ltac:(lia)). replace (x + 0) with x by lia. unfold due. lia.
  - rewrite Nat.add_succ_r. pose proof (E (x + n) j Lj) as F. unfold put_back in F. cbn [cnt] in Q.
    destruct (used (x + n)).
    + destruct (Nat.eqb_spec (Datatypes.S j) b).
      * destruct m as [|m]; [nia|]. pose proof (IHn 0 m r P Lr ltac:(simpl in Q; lia)). simpl. lia.
      * pose proof (IHn (Datatypes.S j) m r ltac:(lia) Lr ltac:(lia)). lia.
    + pose proof (IHn j m r Lj Lr ltac:(lia)). lia.
Qed.

Lemma due_recently x : sporadic_contends ready due x = true -> x <= due x 0 + (W - b).
Proof.
  assert (P : 0 < b) by (unfold b; lia). destruct server_not_early as [U [_ [R E]]].
  induction x as [x IH] using lt_wf_ind. intros C.
  (* Since when the VCPU contends, but for a window of [W] at most. *)
  assert (X : forall n, n <= x -> exists f, f <= n /\
    (forall y, x - f <= y <= x -> sporadic_contends ready due y = true) /\
    (f = n \/ f < n /\ sporadic_contends ready due (x - f - 1) = false)).
  { induction n; intros N.
    - exists 0. repeat split; auto. intros y Y. now replace y with x by lia.
    - destruct IHn as [f [F1 [F2 [->|[F3 F4]]]]]; [lia| |exists f; repeat split; auto; right; split; auto; lia].
      destruct (sporadic_contends ready due (x - n - 1)) eqn:Q.
      + exists (Datatypes.S n). repeat split; auto. intros y Y.
        destruct (Nat.eq_dec y (x - n - 1)) as [->|]; auto. apply F2. lia.
      + exists n. repeat split; auto. }
  destruct (X (Nat.min W x) ltac:(lia)) as [f [F1 [F2 F3]]]. clear X.
  assert (G : f <= cnt used (x - f) f + (W - b)).
  { pose proof (L (x - f) f ltac:(lia)) as Q. eapply Nat.le_trans; [exact Q|].
    apply Nat.add_le_mono_r, cnt_le. intros y Y Fy. apply negb_true_iff in Fy. apply S; auto. apply F2. lia. }
  destruct (stair_split b (cnt used (x - f) f) P) as [m [r [Ev Er]]].
  pose proof (due_moves (x - f) f 0 m r P Er ltac:(lia)) as D. replace (x - f + f) with x in D by lia.
  assert (Mb : m * b <= m * t) by (apply Nat.mul_le_mono_l; unfold b, t; lia).
  destruct (le_lt_dec (x - f) (due (x - f) 0)) as [A|A]; [lia|].
  (* Then the window is as long as [W]: at its start the server contended already. *)
  assert (f = W).
  { destruct F3 as [F3|[F3 F4]].
    - destruct (le_lt_dec W x); [lia|]. assert (x - f = 0) by lia. lia.
    - exfalso. pose proof (F2 (x - f) ltac:(lia)) as C0. unfold sporadic_contends in C0.
      apply andb_true_iff in C0. destruct C0 as [R0 _].
      destruct (ready (x - f - 1)) eqn:R1.
      + pose proof (E (x - f - 1) 0 P) as Q. unfold put_back in Q.
        replace (Datatypes.S (x - f - 1)) with (x - f) in Q by lia.
        destruct (used (x - f - 1)) eqn:U1; [apply U in U1; congruence|].
        unfold sporadic_contends in F4. rewrite R1 in F4. simpl in F4. apply Nat.leb_gt in F4. lia.
      + pose proof (R (x - f)) as Q. assert (x - f <= due (x - f) 0); [|lia]. apply Q. split; auto. }
  subst f. pose proof (IH (x - W) ltac:(lia) (F2 (x - W) ltac:(lia))) as Q.
  destruct m as [|m]; [lia|]. simpl in D. lia.
Qed.

(* THE SERVER follows the rules on which its VCPU relies. *)
Theorem served_in_time : in_time b t 0 used ready due.
Proof.
  apply server_in_time. intros x U. pose proof (due_recently x (proj1 server_not_early x U)) as Q.
  unfold due in Q. unfold b, t in *. lia.
Qed.
End Served.
End Server.
