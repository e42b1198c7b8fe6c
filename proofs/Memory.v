(* Memory: the accesses of a VM with a budget, from the rules of its counter.

   The model is the account of `policy::bandwidth`: in each period of [P] slots the account gets [Q]
   accesses, what remains of earlier ones expires, and a debt is paid first. The VM is stopped when
   the account is empty; until then it makes at most [o] accesses more ([stopped]). In any window of
   [w] slots it makes at most [(floor (w / P) + 2) Q + o] accesses ([arrivals]), which delay another
   PCPU for at most [L] each ([delays]). *)
From Coq Require Import Arith Lia ZArith Bool List.
From Bulkhead Require Import Counting.

Section Account.
Variables P Q o : nat.
Variable makes : nat -> nat.                    (* accesses in a slot *)
Hypothesis Pp : 0 < P.

Open Scope Z_scope.

(* The account at the start of a slot, before accesses of that slot: a renewal at each multiple of
   [P], as `Account::renew` does it. *)
Definition renew level := Z.min (level + Z.of_nat Q) (Z.of_nat Q).
Fixpoint level x : Z :=
  match x with
  | O => renew 0
  | S y => let rest := level y - Z.of_nat (makes y) in
           if (S y mod P =? 0)%nat then renew rest else rest
  end.

(* The counter stops the VM when the account is empty, and until the VM stands still it makes at most
   [o] accesses more: whatever is in the account, no more than that beyond it. *)
Definition stopped := forall x, Z.of_nat (makes x) <= Z.max 0 (level x + Z.of_nat o).

Hypothesis St : stopped.

Lemma never_above x : level x <= Z.of_nat Q.
Proof.
  induction x; simpl; [unfold renew; lia|]. destruct (_ =? 0)%nat; unfold renew; lia.
Qed.

(* THE INVARIANT: a debt is never more than the overshoot. *)
Lemma debt x : - Z.of_nat o <= level x - Z.of_nat (makes x).
Proof.
  induction x.
  - pose proof (St 0%nat). simpl in *. unfold renew in *. lia.
  - pose proof (St (S x)) as A. simpl in *. destruct (_ =? 0)%nat; unfold renew in *; lia.
Qed.

Close Scope Z_scope.

(* Accesses in a window. *)
Definition accesses t w := sum (fun d => makes (t + d)) w.

(* Renewals in a window, that at its start not counted. *)
Definition renewals t w := cnt (fun x => x mod P =? 0) (S t) w.

(* What a window can take: the account at its start, and the renewals. *)
Lemma taken t w :
  (Z.of_nat (accesses t w) <= level t - level (t + w) + Z.of_nat (renewals t w * Q))%Z.
Proof.
  induction w as [|w IH].
  - unfold accesses, renewals. simpl. rewrite Nat.add_0_r. lia.
  - unfold accesses, renewals in *. cbn [sum cnt].
    replace (t + S w) with (S (t + w)) by lia. cbn [level].
    replace (S t + w) with (S (t + w)) by lia.
    destruct (S (t + w) mod P =? 0); unfold renew; lia.
Qed.

Lemma renewals_le t w : renewals t w <= w / P + 1.
Proof.
  (* Each [P] slots have one. *)
  assert (One : forall s n, n <= P -> cnt (fun x => x mod P =? 0) s n <= 1).
  { intros s n L. induction n; [simpl; lia|]. cbn [cnt].
    destruct (Nat.eqb_spec ((s + n) mod P) 0) as [E|]; [|specialize (IHn ltac:(lia)); lia].
    rewrite cnt_none; [lia|]. intros x X. apply Nat.eqb_neq. intros Ex.
    apply Nat.mod_divides in E; [|lia]. apply Nat.mod_divides in Ex; [|lia].
    destruct E as [a E]. destruct Ex as [b Ex]. assert (P * a < P * b + P) by lia.
    assert (P * b < P * a) by lia. assert (b < a) by nia. nia. }
  assert (Many : forall m s, cnt (fun x => x mod P =? 0) s (m * P) <= m).
  { induction m; intros s; [simpl; lia|]. replace (S m * P) with (m * P + P) by lia. rewrite cnt_add.
    pose proof (IHm s). pose proof (One (s + m * P) P (le_n _)). lia. }
  unfold renewals. pose proof (Nat.div_mod w P ltac:(lia)) as D.
  pose proof (Nat.mod_upper_bound w P ltac:(lia)) as U.
  eapply Nat.le_trans; [apply (cnt_longer _ _ w ((w / P + 1) * P)); nia|]. apply Many.
Qed.

(* THE ARRIVAL CURVE of a VM with a budget. *)
Definition curve w := (w / P + 2) * Q + o.

Theorem arrivals t w : 0 < w -> accesses t w <= curve w.
Proof.
  intros W. destruct w as [|w]; [lia|]. pose proof (taken t w) as Tk.
  pose proof (never_above t). pose proof (debt (t + w)) as D.
  pose proof (renewals_le t w). assert (w / P <= S w / P) by (apply Nat.div_le_mono; lia).
  assert (R : renewals t w * Q <= (S w / P + 1) * Q) by (apply Nat.mul_le_mono_r; lia).
  assert (A : accesses t (S w) = accesses t w + makes (t + w)) by reflexivity.
  unfold curve. nia.
Qed.
End Account.

(* The delay of a task. Accesses of other PCPUs delay it in slots each of which belongs to one access
   made in the window, at most [L] for each. Then the delays of one other VM are at most [L] times
   its arrival curve: a term that [Tasks.response] can take as part of [extra]. *)
Theorem delays P Q o makes L (delayed : nat -> bool) t w :
  0 < P -> stopped P Q o makes -> 0 < w ->
  cnt delayed t w <= accesses makes t w * L ->
  cnt delayed t w <= curve P Q o w * L.
Proof.
  intros Pp St W D. pose proof (arrivals P Q o makes Pp St t w W) as A.
  eapply Nat.le_trans; [exact D|]. apply Nat.mul_le_mono_r. exact A.
Qed.

(* A VM that uses all of its budget at the end of a period and at the start of the next obeys the
   rules and makes [2 Q] accesses in a short window. *)
Definition busy_vm x := match x with 9 => 5 | 10 => 5 | _ => 0 end.
Example it_is_stopped : forall x, x < 30 ->
  (Z.of_nat (busy_vm x) <= Z.max 0 (level 10 5 busy_vm x + 0))%Z.
Proof.
  intros x X. assert (I : In x (seq 0 30)) by (apply in_seq; lia). simpl in I.
  repeat (destruct I as [I|I]; [subst x; vm_compute; congruence|]). destruct I.
Qed.
Example two_budgets_meet : accesses busy_vm 9 2 = 10.
Proof. reflexivity. Qed.
