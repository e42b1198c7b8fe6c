(* Servers: several VCPUs share a PCPU.

   The VCPUs of a PCPU have numbers, which are their priorities: 0 is the highest. Each has a server
   of one of three kinds. [interference] says how much a server takes from those below, and
   [leaves_budget] that VCPU [i] gets its budget within [W]: the theorem about tasks, one level up.
   [server_supply] puts this together with [Supply.v]. *)
From Coq Require Import Arith Lia Bool List.
From Bulkhead Require Import Counting Supply.

Inductive kind := Periodic | Deferrable | Sporadic.

(* The parameters of a server: its budget, its period, and the start of the first period. [limit] is
   what others count for its budget: at least as much. *)
Record server := { of_kind : kind; budget : nat; limit : nat; period : nat; start : nat }.

(* What happens to a server: in which slots it uses its budget and its VCPU is ready; and for a
   sporadic one, before each slot, from when on the next slots of its budget can be used. *)
Record behaviour := { used : nat -> bool; ready : nat -> bool; due : nat -> nat -> nat }.

(* An idling periodic server uses its budget whether or not its VCPU is ready. *)
Definition counts_as_ready s b x :=
  match of_kind s with Periodic => true | _ => ready b x end.

(* The server has budget, and is to use it. *)
Definition wants s b x :=
  match of_kind s with
  | Sporadic => sporadic_contends (ready b) (due b) x
  | _ => contends (budget s) (period s) (start s) (used b) (counts_as_ready s b) x
  end.

(* The rules of each kind that VCPUs below rely on. *)
Definition renewed s b :=
  (forall k, cnt (used b) (begin (period s) (start s) k) (period s) <= budget s) /\
  (forall x, x < start s -> used b x = false).

Definition follows s b :=
  match of_kind s with
  | Sporadic => not_early (budget s) (period s) (used b) (ready b) (due b)
  | _ => renewed s b
  end.

(* The rule that the VCPU itself relies on, too, if its server is sporadic. *)
Definition supplies s b :=
  match of_kind s with
  | Sporadic => in_time (budget s) (period s) (start s) (used b) (ready b) (due b)
  | _ => True
  end.

Definition sound s := 0 < budget s /\ budget s <= limit s /\ limit s <= period s.

(* The most that a server takes from those below in a window. *)
Definition takes s w :=
  match of_kind s with
  | Deferrable => ceil (w + (period s - limit s)) (period s) * limit s
  | _ => ceil w (period s) * limit s
  end.

(* The server did not want the slot before. *)
Definition calm s b t := t = 0 \/ wants s b (t - 1) = false.

Section Interference.
Variable s : server.
Variable b : behaviour.
Hypothesis So : sound s.
Hypothesis Fo : follows s b.

Let T := period s.
Let B := limit s.

Section Renewed.
Hypothesis R : renewed s b.

Lemma part_le k d n : d + n <= T -> cnt (used b) (begin T (start s) k + d) n <= Nat.min n B.
Proof.
  intros N. destruct R as [R1 _]. pose proof (R1 k) as H. fold T in H.
  pose proof (cnt_max (used b) (begin T (start s) k + d) n).
  assert (cnt (used b) (begin T (start s) k + d) n <= cnt (used b) (begin T (start s) k) T).
  { rewrite (cnt_sub _ _ d T), (cnt_sub _ (begin T (start s) k + d) n (T - d)) by lia. lia. }
  unfold sound in So. unfold B. lia.
Qed.

Lemma wholes_le k j : cnt (used b) (begin T (start s) k) (j * T) <= j * B.
Proof.
  induction j; [simpl; lia|]. replace (S j * T) with (j * T + T) by lia. rewrite cnt_add.
  pose proof (part_le (k + j) 0 T ltac:(lia)).
  replace (begin T (start s) (k + j) + 0) with (begin T (start s) k + j * T) in H
    by (unfold begin; lia). lia.
Qed.

Lemma from_begin k w : cnt (used b) (begin T (start s) k) w <= ceil w T * B.
Proof.
  assert (P : 0 < T) by (unfold sound in So; unfold T; lia).
  eapply Nat.le_trans; [apply cnt_longer, (ceil_covers w T P)|apply wholes_le].
Qed.

(* A slot lies before the first period, or in one. *)
Lemma before_start t w : t <= start s ->
  cnt (used b) t w <= cnt (used b) (start s) (w - (start s - t)).
Proof.
  intros L. destruct R as [_ R2]. destruct (le_lt_dec w (start s - t)).
  - rewrite cnt_none; [lia|]. intros. apply R2. lia.
  - rewrite (cnt_sub _ t (start s - t)) by lia. rewrite cnt_none by (intros; apply R2; lia).
    replace (t + (start s - t)) with (start s) by lia. lia.
Qed.

Lemma place t : start s <= t -> exists k d, t = begin T (start s) k + d /\ d < T.
Proof.
  intros L. destruct (stair_split T (t - start s)) as [k [d [E D]]]; [unfold sound in So; unfold T; lia|].
  exists k, d. split; auto. unfold begin. lia.
Qed.

(* Two budgets can come together, at the end of a period and at the start of the next. *)
Lemma any_window t w : cnt (used b) t w <= ceil (w + (T - B)) T * B.
Proof.
  assert (P : 0 < T /\ 0 < B /\ B <= T) by (unfold sound in So; unfold T, B; lia).
  assert (G : forall t w, start s <= t -> cnt (used b) t w <= ceil (w + (T - B)) T * B).
  { clear t w. intros t w L. destruct (place t L) as [k [d [-> D]]].
    pose proof (ceil_covers (w + (T - B)) T ltac:(lia)) as M. set (m := ceil (w + (T - B)) T) in *.
    destruct (le_lt_dec w (T - d)) as [A|A].
    - pose proof (part_le k d w ltac:(lia)). destruct m; [|simpl in *; lia]. simpl in M. lia.
    - destruct (stair_split T (w - (T - d))) as [j [e [Ew Ee]]]; [lia|].
      assert (E : w = (T - d) + (j * T + e)) by lia. clear Ew. subst w. rewrite !cnt_add.
      pose proof (part_le k d (T - d) ltac:(lia)) as P1.
      pose proof (wholes_le (k + 1) j) as P2.
      pose proof (part_le (k + 1 + j) 0 e ltac:(lia)) as P3.
      replace (begin T (start s) k + d + (T - d)) with (begin T (start s) (k + 1))
        by (unfold begin; lia).
      replace (begin T (start s) (k + 1 + j) + 0) with (begin T (start s) (k + 1) + j * T) in P3
        by (unfold begin; lia).
      destruct (le_lt_dec (j + 2) m) as [C|C].
      { assert ((j + 2) * B <= m * B) by (apply Nat.mul_le_mono_r; lia). lia. }
      destruct (Nat.eq_dec m (j + 1)) as [->|].
      + assert (T - d + e <= B) by lia. lia.
      + exfalso. assert (m * T <= j * T) by (apply Nat.mul_le_mono_r; lia). lia. }
  destruct (le_lt_dec (start s) t) as [L|L]; [auto|].
  eapply Nat.le_trans; [apply before_start; lia|]. eapply Nat.le_trans; [apply G; lia|].
  apply Nat.mul_le_mono_r, ceil_mono; lia.
Qed.

(* A server whose budget also goes by while its VCPU waits has used all of it when it is calm. *)
Lemma calm_window t w : of_kind s = Periodic -> calm s b t -> cnt (used b) t w <= ceil w T * B.
Proof.
  intros K Ca. assert (P : 0 < T /\ budget s <= B) by (unfold sound in So; unfold T, B; lia).
  destruct (le_lt_dec t (start s)) as [L|L].
  { eapply Nat.le_trans; [apply before_start; lia|].
    replace (start s) with (begin T (start s) 0) by (unfold begin; lia).
    eapply Nat.le_trans; [apply from_begin|]. apply Nat.mul_le_mono_r, ceil_mono; lia. }
  destruct Ca as [->|Ca]; [lia|].
  destruct (place (t - 1) ltac:(lia)) as [k [d [E D]]].
  unfold wants, contends, counts_as_ready in Ca. rewrite K in Ca.
  replace (start s <=? t - 1) with true in Ca by (symmetry; apply Nat.leb_le; lia). simpl in Ca.
  apply Nat.ltb_ge in Ca. unfold used_in_period in Ca. rewrite E in Ca.
  fold T in Ca. rewrite (in_period (budget s) T T (start s)) in Ca by (unfold sound, B, T in *; lia).
  replace (begin T (start s) k + d - begin T (start s) k) with d in Ca by lia.
  (* Nothing more in this period. *)
  assert (Z : cnt (used b) t (T - (d + 1)) = 0).
  { destruct R as [R1 _]. pose proof (R1 k) as H. fold T in H.
    rewrite (cnt_sub _ _ d T) in H by lia. replace (T - d) with (1 + (T - (d + 1))) in H by lia.
    rewrite (cnt_add _ _ 1) in H. replace (begin T (start s) k + d + 1) with t in H by lia. lia. }
  destruct (le_lt_dec w (T - (d + 1))) as [A|A].
  - pose proof (cnt_longer (used b) t w (T - (d + 1)) A). lia.
  - rewrite (cnt_sub _ t (T - (d + 1)) w) by lia. rewrite Z.
    replace (t + (T - (d + 1))) with (begin T (start s) (k + 1)) by (unfold begin in *; lia).
    eapply Nat.le_trans; [apply from_begin|]. apply Nat.mul_le_mono_r, ceil_mono; lia.
Qed.
End Renewed.

Lemma sporadic_window t w : of_kind s = Sporadic -> calm s b t -> cnt (used b) t w <= ceil w T * B.
Proof.
  intros K Ca. unfold follows in Fo. rewrite K in Fo. unfold calm, wants in Ca. rewrite K in Ca.
  assert (P : 0 < budget s /\ budget s <= B /\ B <= T) by (unfold sound in So; unfold T, B; lia).
  pose proof (sporadic_uses (budget s) T T (used b) (ready b) (due b)
    ltac:(lia) ltac:(lia) ltac:(lia) Fo t Ca w) as Q.
  eapply Nat.le_trans; [exact Q|]. apply Nat.mul_le_mono_l. lia.
Qed.

(* INTERFERENCE. What a server takes in a window that begins when it is calm. *)
Theorem interference t w : calm s b t -> cnt (used b) t w <= takes s w.
Proof.
  intros Ca. unfold takes. destruct (of_kind s) eqn:K.
  - apply calm_window; auto. unfold follows in Fo. now rewrite K in Fo.
  - apply any_window. unfold follows in Fo. now rewrite K in Fo.
  - apply sporadic_window; auto.
Qed.

Lemma takes_mono w w' : w <= w' -> takes s w <= takes s w'.
Proof.
  intros L. unfold sound in So. unfold takes.
  destruct (of_kind s); apply Nat.mul_le_mono_r, ceil_mono; lia.
Qed.
End Interference.

Section Pcpu.
Variable servers : nat -> server.
Variable does : nat -> behaviour.
Variable i : nat.                               (* the VCPU in question *)

(* Slots that count for no budget: the hypervisor serves nothing, or a VCPU has used more than its
   budget because it was stopped late. *)
Variable late : nat -> bool.

Definition above x := existsb (fun h => used (does h) x) (seq 0 i).
Definition taken x := above x || late x.

(* The first VCPU that wants a slot gets it. *)
Definition in_order := forall x h, h <= i -> wants (servers h) (does h) x = true ->
  late x = true \/ exists h', h' <= h /\ used (does h') x = true.

(* In a window of at most [W], in which those above are calm at the start, [late] counts at most [Lt]
   times. *)
Definition rarely_late W Lt := forall t w, w <= W ->
  (forall h, h < i -> calm (servers h) (does h) t) -> cnt late t w <= Lt.

(* What servers above take of a window at the start of which they are calm. *)
Lemma taken_le Lt t w :
  (forall h, h < i -> sound (servers h)) ->
  (forall h, h < i -> follows (servers h) (does h)) ->
  cnt late t w <= Lt -> (forall h, h < i -> calm (servers h) (does h) t) ->
  cnt taken t w <= Lt + sum (fun h => takes (servers h) w) i.
Proof.
  intros So Fo La C. unfold taken. pose proof (cnt_or above late t w).
  assert (cnt above t w <= sum (fun h => cnt (used (does h)) t w) i).
  { apply split with (f := fun h x => used (does h) x). intros x _ A. unfold above in A.
    apply existsb_exists in A. destruct A as [h [I U]]. apply in_seq in I. exists h. split; auto. lia. }
  assert (sum (fun h => cnt (used (does h)) t w) i <= sum (fun h => takes (servers h) w) i).
  { apply sum_ext. intros h Lh. apply interference; auto. }
  lia.
Qed.

Hypothesis Sound : forall h, h <= i -> sound (servers h).
Hypothesis Follows : forall h, h <= i -> follows (servers h) (does h).
Hypothesis Supplies : supplies (servers i) (does i).
Hypothesis Order : in_order.

Lemma last_calm t : exists t0, t0 <= t /\ (forall h, h < i -> calm (servers h) (does h) t0) /\
  forall x, t0 <= x < t -> taken x = true.
Proof.
  induction t.
  - exists 0. repeat split; auto; [|intros; lia]. intros. now left.
  - destruct (existsb (fun h => wants (servers h) (does h) t) (seq 0 i)) eqn:E.
    + destruct IHt as [t0 [L [C F]]]. exists t0. repeat split; auto. intros x X.
      destruct (Nat.eq_dec x t) as [->|]; [|apply F; lia].
      apply existsb_exists in E. destruct E as [h [I Wh]]. apply in_seq in I.
      unfold taken, above. destruct (Order t h ltac:(lia) Wh) as [La|[h' [Lh U]]].
      * rewrite La. now rewrite orb_true_r.
      * apply orb_true_iff. left. apply existsb_exists. exists h'. split; auto. apply in_seq. lia.
    + exists (S t). repeat split; [lia| |intros; lia]. intros h Lh. right.
      replace (S t - 1) with t by lia. destruct (wants (servers h) (does h) t) eqn:Wh; auto.
      rewrite <- E. symmetry. apply existsb_exists. exists h. split; auto. apply in_seq. lia.
Qed.

(* A VCPU WITH A SERVER gets its budget within [W]. *)
Theorem leaves_budget W Lt :
  rarely_late W Lt ->
  limit (servers i) + Lt + sum (fun h => takes (servers h) W) i <= W ->
  leaves taken (budget (servers i)) W.
Proof.
  intros Ra E t n N. destruct (Sound i (le_n _)) as [_ [BL _]].
  destruct (last_calm t) as [t0 [L [C F]]].
  assert (Tk : cnt taken t0 n <= W - limit (servers i)).
  { pose proof (taken_le Lt t0 n ltac:(intros; apply Sound; lia) ltac:(intros; apply Follows; lia)
      (Ra t0 n N C) C).
    assert (sum (fun h => takes (servers h) n) i <= sum (fun h => takes (servers h) W) i).
    { apply sum_ext. intros h Lh. apply takes_mono; auto. apply Sound. lia. }
    lia. }
  pose proof (cnt_not taken t0 n) as N0. set (free := fun x => negb (taken x)) in *.
  destruct (le_lt_dec (t0 + n) t) as [A|A].
  - (* All of [t0 .. t0 + n] is taken. *)
    rewrite cnt_all in Tk by (intros; apply F; lia). lia.
  - assert (Z : cnt free t0 (t - t0) = 0).
    { apply cnt_none. intros x X. unfold free. rewrite F by lia. auto. }
    rewrite (cnt_sub free t0 (t - t0) n) in N0 by lia. replace (t0 + (t - t0)) with t in N0 by lia.
    pose proof (cnt_longer free t (n - (t - t0)) n). lia.
Qed.

Lemma serves_own x : wants (servers i) (does i) x = true -> taken x = false -> used (does i) x = true.
Proof.
  intros Wx Tx. unfold taken in Tx. apply orb_false_iff in Tx. destruct Tx as [Ax Lx].
  destruct (Order x i (le_n _) Wx) as [|[h [Lh U]]]; [congruence|].
  destruct (Nat.eq_dec h i) as [->|]; auto. exfalso.
  assert (above x = true); [|congruence]. apply existsb_exists. exists h. split; auto.
  apply in_seq. lia.
Qed.

(* The supply of a periodic or deferrable server, where slots count in which its VCPU is not ready. *)
Theorem server_supply_asleep W Lt :
  of_kind (servers i) <> Sporadic -> rarely_late W Lt ->
  limit (servers i) + Lt + sum (fun h => takes (servers h) W) i <= W -> W <= period (servers i) ->
  forall t w, start (servers i) <= t ->
  sbf (budget (servers i)) (period (servers i)) W w
  <= cnt (fun x => used (does i) x || negb (ready (does i) x)) t w.
Proof.
  intros K Ra E WT t w St. pose proof (leaves_budget W Lt Ra E) as Lv.
  destruct (Sound i (le_n _)) as [PB [BL _]].
  pose proof serves_own as Serve. unfold wants in Serve.
  assert (S : serves (budget (servers i)) (period (servers i)) (start (servers i)) (used (does i))
                     (counts_as_ready (servers i) (does i)) taken).
  { intros x. destruct (of_kind (servers i)); try congruence; apply Serve. }
  pose proof (replenished_supply _ _ W (start (servers i)) (used (does i))
    (counts_as_ready (servers i) (does i)) taken PB ltac:(lia) WT Lv S t w St) as Q.
  eapply Nat.le_trans; [exact Q|]. apply cnt_le. intros x _. unfold counts_as_ready.
  destruct (of_kind (servers i)), (used (does i) x), (ready (does i) x); simpl; auto.
Qed.

(* THE SUPPLY OF A VCPU, of any kind, on a PCPU with others above. *)
Theorem server_supply W Lt :
  rarely_late W Lt ->
  limit (servers i) + Lt + sum (fun h => takes (servers h) W) i <= W -> W <= period (servers i) ->
  forall t w, start (servers i) <= t -> (forall x, t <= x < t + w -> ready (does i) x = true) ->
  sbf (budget (servers i)) (period (servers i)) W w <= cnt (used (does i)) t w.
Proof.
  intros Ra E WT t w St Rd. destruct (of_kind (servers i)) eqn:K.
  1, 2: pose proof (server_supply_asleep W Lt ltac:(congruence) Ra E WT t w St) as Q;
    eapply Nat.le_trans; [exact Q|];
    apply cnt_le; intros x X; rewrite Rd by auto; simpl; now rewrite orb_false_r.
  pose proof (leaves_budget W Lt Ra E) as Lv. destruct (Sound i (le_n _)) as [PB [BL _]].
  pose proof serves_own as Serve. unfold wants in Serve. rewrite K in Serve.
  pose proof (Follows i (le_n _)) as Fo. unfold follows in Fo. rewrite K in Fo.
  unfold supplies in Supplies. rewrite K in Supplies.
  apply (sporadic_supply _ (period (servers i)) W (start (servers i)) (used (does i)) (ready (does i)) taken
    (due (does i)) PB ltac:(lia) WT Lv Serve (proj1 Fo) Supplies); auto.
Qed.
End Pcpu.
