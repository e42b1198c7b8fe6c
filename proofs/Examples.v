(* Examples: runs that obey each set of assumptions, so that no theorem is empty.

   Two tasks of 2 and 3 slots have a PCPU of their own, or share one with a deferrable server of 1
   slot in 5: behind a server of each kind, or in the background, where the first task suspends
   itself. Jobs after the first ones need no time. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Tasks Losses Supply Below Certificate.
From Bulkhead Require Servers.
Import ListNotations.

Local Arguments Nat.div : simpl never.
Local Arguments Nat.modulo : simpl never.

Definition one : task :=
  {| wcet := 2; every := 10; jitter := 0; blocking := 0; suspension := 0; colors := 0;
     accesses := Some 1%N; tied := false |}.
Definition asleep : task :=
  {| wcet := 2; every := 10; jitter := 0; blocking := 0; suspension := 1; colors := 0;
     accesses := Some 1%N; tied := false |}.
Definition two : task :=
  {| wcet := 3; every := 20; jitter := 0; blocking := 0; suspension := 0; colors := 0;
     accesses := Some 1%N; tied := false |}.
Definition first : server :=
  {| kind := Servers.Deferrable; budget := 1; counted := 1; period := 5 |}.

Definition whole : vcpu :=
  {| above := []; at_place := Whole; late := 0; tasks := [one; two]; reload := 0; sources := [];
     once := 0; interferers := []; on_way := 0; reloads_of_color := 0 |}.
Definition served k : vcpu :=
  {| above := [first]; at_place := Served {| kind := k; budget := 3; counted := 3; period := 5 |} 5;
     late := 0; tasks := [one; two]; reload := 0; sources := []; once := 0; interferers := []; on_way := 0;
     reloads_of_color := 0 |}.
Definition background : vcpu :=
  {| above := [first]; at_place := Background; late := 0; tasks := [asleep; two]; reload := 0;
     sources := []; once := 0; interferers := []; on_way := 0; reloads_of_color := 0 |}.

(* Their certificates. *)
Example whole_checks : check whole
  [{| of := 0; response := 2; windows := [2%N] |}; {| of := 1; response := 5; windows := [5%N] |}]
  = true.
Proof. reflexivity. Qed.
Example served_checks k : check (served k)
  [{| of := 0; response := 6; windows := [6%N] |}; {| of := 1; response := 15; windows := [15%N] |}]
  = true.
Proof. destruct k; reflexivity. Qed.
Example background_checks : check background
  [{| of := 0; response := 5; windows := [5%N] |}; {| of := 1; response := 11; windows := [11%N] |}]
  = true.
Proof. reflexivity. Qed.

Definition needed h k := match h, k with 0, 0 => 2 | 1, 0 => 3 | _, _ => 0 end.
Definition in_list (l : list (option (nat * nat))) x := nth x l None.

(* Servers: the first uses the first slot of each period, the other one the three after that. *)
Definition in_first d := d =? 0.
Definition in_second d := (1 <=? d) && (d <=? 3).
Definition behaves h : Servers.behaviour :=
  match h with
  | 0 => {| Servers.used := fun x => in_first (x mod 5); Servers.ready := fun _ => true;
            Servers.due := fun _ _ => 0 |}
  | _ => {| Servers.used := fun x => in_second (x mod 5); Servers.ready := fun _ => true;
            Servers.due := fun x j => (cnt (fun x => in_second (x mod 5)) 0 x + j) / 3 * 5 |}
  end.

Definition run_of v sched susp : run :=
  {| arr := fun h k => k * tT v h; rel := fun h k => k * tT v h; needs := needed;
     sched := in_list sched; susp := susp; starts := fun _ => 0; does := behaves;
     unserved := fun _ => false; waits := fun _ _ => false; whose := fun _ _ _ _ _ => false;
     early_one := fun _ _ _ _ => false; epoch := fun _ _ => 0; causes := fun _ _ _ _ => false |}.

Definition never (h k x : nat) := false.
Definition run_whole := run_of whole
  [Some (0, 0); Some (0, 0); Some (1, 0); Some (1, 0); Some (1, 0)] never.
Definition run_served k := run_of (served k)
  [None; Some (0, 0); Some (0, 0); Some (1, 0); None; None; Some (1, 0); Some (1, 0)] never.
Definition run_background := run_of background
  [None; Some (0, 0); Some (1, 0); Some (0, 0); Some (1, 0); None; Some (1, 0)]
  (fun h k x => (h =? 0) && (k =? 0) && (x =? 2)).

(* Nothing is lost if tasks execute, or [i] suspends itself, where a task that counts is pending. *)
Lemma loses_nothing v r i : is_background v = false ->
  (forall x h k, supplied v r i x = true -> waiting v r x = false -> own_asleep r i x = false -> h <= last_of v i ->
    pending (rel r) (needs r) (sched r) h k x -> exists h' k', sched r x = Some (h', k') /\ h' <= last_of v i) ->
  loses_little v r i.
Proof.
  intros Ba P. unfold loses_little. rewrite Ba. intros t0 w a q [_ Bu] _. rewrite cnt_none; [lia|].
  intros x X. unfold lost_of, lost. destruct (supplied v r i x) eqn:Su; auto.
  destruct (waiting v r x) eqn:Wa; [now rewrite andb_false_r|]. destruct (own_asleep r i x) eqn:As; [apply andb_false_r|].
  destruct (Bu x X) as [h [k [L Q]]]. apply kept_pending in Q. destruct Q as [_ Q].
  destruct (P x h k Su Wa As L Q) as [h' [k' [F L']]]. unfold runs_down_to. rewrite F.
  replace (h' <=? last_of v i) with true; auto. symmetry. now apply Nat.leb_le.
Qed.

(* Counting in a pattern of 5 slots. *)
Lemma pattern p k n : n <= 5 -> cnt (fun x => p (x mod 5)) (k * 5) n = cnt p 0 n.
Proof.
  induction n; intros L; auto. cbn [cnt]. rewrite IHn by lia.
  replace (k * 5 + n) with (n + k * 5) by lia. rewrite Nat.mod_add, Nat.mod_small by lia. auto.
Qed.

Lemma pattern_whole p k : cnt (fun x => p (x mod 5)) 0 (k * 5) = k * cnt p 0 5.
Proof.
  induction k; [reflexivity|]. replace (S k * 5) with (k * 5 + 5) by lia. rewrite cnt_add, IHk, Nat.add_0_l.
  rewrite pattern by lia. lia.
Qed.

Lemma slot x : exists k d, x = k * 5 + d /\ d < 5.
Proof. exists (x / 5), (x mod 5). pose proof (Nat.div_mod x 5). pose proof (Nat.mod_upper_bound x 5). lia. Qed.

(* One goal for each of the numbers below [n]. *)
Ltac each x n :=
  let X := fresh in
  assert (X : In x (seq 0 n)) by (apply in_seq; lia); simpl in X;
  repeat (destruct X as [X|X]; [subst x|]); [.. | destruct X].
Ltac slots d := each d 5.

Lemma in_list_short l x job : in_list l x = Some job -> x < length l.
Proof.
  intros E. destruct (le_lt_dec (length l) x) as [L|]; auto. unfold in_list in E.
  rewrite nth_overflow in E by auto. discriminate.
Qed.

(* What has no need is complete; the rest is after [n] slots. *)
Lemma pending_only v l s n h k x :
  complete needed (in_list l) 0 0 n -> complete needed (in_list l) 1 0 n ->
  pending (rel (run_of v l s)) needed (in_list l) h k x -> k = 0 /\ h < 2 /\ x < n.
Proof.
  intros C0 C1 [_ N].
  destruct (le_lt_dec n x) as [L|L].
  - exfalso. apply N. destruct h as [|[|h]], k as [|k]; try (cbv; lia).
    + eapply complete_mono; [exact L|exact C0].
    + eapply complete_mono; [exact L|exact C1].
  - destruct h as [|[|h]], k as [|k]; auto; exfalso; apply N; cbv; lia.
Qed.

Lemma valid_of v l s :
  (forall h, 0 < tT v h) -> 2 <= tC v 0 -> 3 <= tC v 1 ->
  (forall x h k, in_list l x = Some (h, k) -> k = 0 /\ ~ complete needed (in_list l) h k x) ->
  valid (tC v) (tT v) (tJ v) (arr (run_of v l s)) (rel (run_of v l s)) needed (in_list l).
Proof.
  intros P C0 C1 R. constructor; auto; simpl.
  - intros [|[|h]] [|k]; simpl; lia.
  - intros. lia.
  - intros. lia.
  - intros x h k E. destruct (R x h k E) as [-> N]. repeat split; auto; [simpl; lia|intros; lia].
Qed.

Lemma periods_positive v : tasks_ok v = true -> forall h, 0 < tT v h.
Proof.
  intros O h. unfold tT, task_of. unfold tasks_ok in O. rewrite forallb_forall in O.
  destruct (le_lt_dec (length (tasks v)) h).
  - rewrite nth_overflow by auto. simpl. lia.
  - specialize (O _ (nth_In (tasks v) no_task l)). apply N.ltb_lt in O. lia.
Qed.

Lemma ordered v l s h k : rel (run_of v l s) h k <= rel (run_of v l s) h (S k).
Proof. simpl. lia. Qed.

(* The servers obey their rules, whatever the kind of the second one. *)
Lemma first_follows v s :
  nth 0 (all_servers v) no_server = first -> Servers.follows (server_of v (run_of v s never) 0) (behaves 0).
Proof.
  intros E. unfold Servers.follows, server_of. rewrite E. simpl. split.
  - intros k. unfold begin. simpl Servers.period. simpl Servers.start. rewrite Nat.add_0_l.
    change (N.to_nat 5) with 5. rewrite (pattern in_first) by lia. simpl. lia.
  - simpl. intros. lia.
Qed.

Theorem whole_is_obeyed : obeys whole run_whole.
Proof.
  split; [|split; [|split]].
  - apply valid_of; try (apply periods_positive; reflexivity); try (unfold tC; simpl; lia).
    intros x h k E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
    each x 5; injection E as <- <-; split; auto; cbv; lia.
  - constructor; [apply ordered|discriminate|]. intros. rewrite cnt_none; [lia|auto].
  - exact I.
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. apply loses_nothing; [reflexivity|].
    replace (last_of whole i) with i by (simpl in Li; destruct i as [|[|i]]; [reflexivity|reflexivity|lia]).
    intros x h k _ _ _ Lm Q. pose proof Q as Q'.
    apply (pending_only whole _ never 5) in Q'; try (cbv; lia).
    destruct Q' as [-> [Lh Lx]]. destruct Q as [_ Nc].
    destruct h as [|[|h]]; [| |lia]; each x 5;
      try (exfalso; apply Nc; cbv; lia); do 2 eexists; (split; [reflexivity|lia]).
Qed.

Lemma used_first k d : d < 5 -> Servers.used (behaves 0) (k * 5 + d) = in_first d.
Proof.
  intros. change (in_first ((k * 5 + d) mod 5) = in_first d).
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. auto.
Qed.

Lemma used_second h k d : d < 5 -> Servers.used (behaves (S h)) (k * 5 + d) = in_second d.
Proof.
  intros. change (in_second ((k * 5 + d) mod 5) = in_second d).
  rewrite Nat.add_comm, Nat.mod_add, Nat.mod_small by lia. auto.
Qed.

Lemma in_period_of p k d : d < 5 ->
  used_in_period 5 0 (fun x => p (x mod 5)) (k * 5 + d) = cnt p 0 d.
Proof.
  intros L. unfold used_in_period. rewrite Nat.sub_0_r.
  replace ((k * 5 + d) / 5) with k.
  2: { rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia. lia. }
  unfold begin. rewrite Nat.add_0_l. replace (k * 5 + d - k * 5) with d by lia.
  apply pattern. lia.
Qed.

Lemma second_uses k d : d <= 5 ->
  cnt (fun x => in_second (x mod 5)) 0 (k * 5 + d) = k * 3 + cnt in_second 0 d.
Proof.
  intros L. rewrite cnt_add, pattern_whole, Nat.add_0_l, pattern by lia. reflexivity.
Qed.

Lemma third n m : m < 3 -> (n * 3 + m) / 3 = n.
Proof. intros. rewrite Nat.add_comm, Nat.div_add, Nat.div_small by lia. lia. Qed.

(* The next slots of a budget of 3 in a period of 5 are due in time, and not early. *)
Lemma second_put_back x j : j < 3 -> put_back 3 5 (Servers.used (behaves 1)) (Servers.due (behaves 1)) x j
  = Servers.due (behaves 1) (S x) j.
Proof.
  intros L. unfold put_back. cbn [behaves Servers.used Servers.due cnt]. rewrite Nat.add_0_l.
  destruct (in_second (x mod 5)); [|now rewrite Nat.add_0_r].
  set (n := cnt _ 0 x). destruct (Nat.eqb_spec (S j) 3).
  - replace (n + 1 + j) with (n + 0 + 1 * 3) by lia. rewrite Nat.div_add by lia. lia.
  - do 2 f_equal. lia.
Qed.

Lemma second_follows k s :
  Servers.follows (server_of (served k) (run_of (served k) s never) 1) (behaves 1) /\
  Servers.supplies (server_of (served k) (run_of (served k) s never) 1) (behaves 1).
Proof.
  destruct k; unfold Servers.follows, Servers.supplies, server_of; cbn -[behaves N.to_nat];
    change (N.to_nat 5) with 5; change (N.to_nat 3) with 3.
  1, 2: split; [split; [|cbn; intros; lia]|exact I]; intros j; unfold begin; cbn [Servers.period Servers.start];
    rewrite Nat.add_0_l; cbn [behaves Servers.used]; change (N.to_nat 5) with 5;
    rewrite (pattern in_second) by lia; cbn; lia.
  split; [repeat split|].
  - intros x U. destruct (slot x) as [j [d [-> D]]]. unfold sporadic_contends. cbn [behaves Servers.ready Servers.due].
    rewrite second_uses, Nat.add_0_r by lia. rewrite used_second in U by auto.
    apply Nat.leb_le. slots d; try discriminate U; simpl cnt; rewrite third by lia; lia.
  - intros x j _. cbn [behaves Servers.due]. apply Nat.mul_le_mono_r, Nat.div_le_mono; lia.
  - intros x [_ [->|Q]]; [lia|discriminate].
  - intros x j L. now rewrite second_put_back.
  - intros x _ _. split.
    + intros [->|[_ [->|Q]]] j L; [| |discriminate]; cbn [behaves Servers.due cnt]; rewrite Nat.div_small by lia; lia.
    + intros _ j L. now rewrite second_put_back.
Qed.

Lemma second_in_order k s x :
  Servers.wants (server_of (served k) (run_of (served k) s never) 1) (behaves 1) x = true ->
  Servers.used (behaves 0) x = true \/ Servers.used (behaves 1) x = true.
Proof.
  destruct (slot x) as [j [d [-> D]]]. rewrite used_first, used_second by auto.
  destruct k; unfold Servers.wants, contends, sporadic_contends, Servers.counts_as_ready; simpl.
  1, 2: change (Pos.to_nat 5) with 5; change (Pos.to_nat 3) with 3;
    rewrite (in_period_of in_second) by auto; slots d; auto; discriminate.
  rewrite second_uses, Nat.add_0_r by lia. slots d; auto. simpl cnt.
  replace (j * 3 + 3) with ((j + 1) * 3 + 0) by lia. rewrite third by lia.
  intros Q. apply Nat.leb_le in Q. lia.
Qed.

Lemma first_in_order v s x : nth 0 (all_servers v) no_server = first ->
  Servers.wants (server_of v (run_of v s never) 0) (behaves 0) x = true ->
  Servers.used (behaves 0) x = true.
Proof.
  intros E. unfold Servers.wants, contends, Servers.counts_as_ready, server_of. rewrite E. simpl.
  destruct (slot x) as [j [d [-> D]]]. change (Pos.to_nat 5) with 5. change (Pos.to_nat 1) with 1.
  rewrite (in_period_of in_first) by auto. pose proof (used_first j d D) as U. simpl in U. rewrite U.
  slots d; auto; discriminate.
Qed.

Theorem served_is_obeyed k : obeys (served k) (run_served k).
Proof.
  split; [|split; [|split]].
  - apply valid_of; try (apply periods_positive; destruct k; reflexivity); try (unfold tC; simpl; lia).
    intros x h j E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
    each x 8; try discriminate E; injection E as <- <-; split; auto; cbv; lia.
  - constructor; [apply ordered|discriminate|]. intros. rewrite cnt_none; [lia|auto].
  - unfold pcpu_obeys. simpl at_place. unfold own_number. simpl length. repeat split.
    + intros [|[|h]] L; [apply (first_follows (served k)); reflexivity|apply second_follows|lia].
    + apply second_follows.
    + intros x [|[|h]] L W; [| |lia]; right.
      * exists 0. split; auto. eapply first_in_order; eauto. reflexivity.
      * destruct (second_in_order k _ x W); [exists 0|exists 1]; auto.
    + intros t w _ _. rewrite cnt_none; [lia|auto].
    + intros. simpl. lia.
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. apply loses_nothing; [reflexivity|].
    replace (last_of (served k) i) with i by (simpl in Li; destruct i as [|[|i]]; [reflexivity|reflexivity|lia]).
    intros x h j Su _ _ Lm Q. pose proof Q as Q'.
    apply (pending_only (served k) _ never 8) in Q'; try (cbv; lia).
    destruct Q' as [-> [Lh Lx]]. destruct Q as [_ Nc].
    assert (U : in_second (x mod 5) = true).
    { unfold supplied in Su. simpl at_place in Su.
      destruct (plain (served k) i) eqn:Pn; [exact Su|]. simpl in Li.
      destruct k, i as [|[|i]]; try discriminate Pn; lia. }
    destruct h as [|[|h]]; [| |lia]; each x 8; try discriminate U;
      try (exfalso; apply Nc; cbv; lia); do 2 eexists; (split; [reflexivity|lia]).
Qed.

Theorem background_is_obeyed : obeys background run_background.
Proof.
  assert (Va : valid (tC background) (tT background) (tJ background) (arr run_background)
    (rel run_background) (needs run_background) (sched run_background)).
  { apply valid_of; try (apply periods_positive; reflexivity); try (unfold tC; simpl; lia).
    intros x h k E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
    each x 7; try discriminate E; injection E as <- <-; split; auto; cbv; lia. }
  assert (Su : suspends (tS background) (rel run_background) (needs run_background)
    (sched run_background) (susp run_background)).
  { constructor; [apply ordered| |].
    - intros h k x Q. simpl in Q. rewrite !andb_true_iff, !Nat.eqb_eq in Q. destruct Q as [[-> ->] ->].
      simpl. split; [lia|split]; [cbv; lia|intros; lia].
    - (* One slot at most. *)
      assert (One : forall t w, cnt (fun x => x =? 2) t w <= 1).
      { intros t w. induction w; simpl; [lia|]. destruct (Nat.eqb_spec (t + w) 2) as [E2|]; [|lia].
        rewrite cnt_none; [lia|]. intros x X. apply Nat.eqb_neq. lia. }
      intros [|h] k t w.
      + eapply Nat.le_trans; [|apply (One t w)]. apply cnt_le. intros x _ Q. simpl in Q.
        rewrite !andb_true_iff in Q. tauto.
      + rewrite cnt_none; [lia|auto]. }
  split; [exact Va|split; [exact Su|split]].
  - unfold pcpu_obeys. cbn [at_place background]. change (own_number background) with 1.
    split.
    + intros [|h] L; [apply (first_follows background []); reflexivity|lia].
    + intros i t w _ _. rewrite cnt_none; [lia|auto].
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. unfold loses_little.
    replace (is_background background) with true by reflexivity.
    intros t0 w a q N Nd Tb. apply Nat.le_trans with (m := 0); [|apply Nat.le_0_l].
    assert (Tw : forall x, topwants background run_background x = true -> top background run_background x = true).
    { intros x W. apply existsb_exists in W. destruct W as [h [In W]]. apply in_seq in In.
      change (own_number background) with 1 in In. assert (h = 0) by lia. subst h.
      apply (first_in_order background [] x) in W; [|reflexivity].
      apply orb_true_iff. left. apply existsb_exists. exists 0. split; [simpl; auto|exact W]. }
    revert t0 w a q N Nd Tb.
    apply (preemptive_loses_nothing_below _ _ _ _ _ _ _ _ (supplied background run_background i) _
      (top background run_background) (topwants background run_background) i Va Su Tw).
    intros x h k _ Lh El. destruct (top background run_background x) eqn:Tp; [now left|right].
    unfold eligible in El. rewrite !andb_true_iff, !negb_true_iff, Nat.leb_le, Nat.leb_gt in El.
    destruct El as [[[Re Nc] Ns] _].
    assert (Q : pending (rel run_background) needed (in_list [None; Some (0, 0); Some (1, 0); Some (0, 0);
      Some (1, 0); None; Some (1, 0)]) h k x).
    { split; auto. unfold complete. unfold run_background in Nc. simpl in Nc |- *. lia. }
    apply (pending_only background _ _ 7) in Q; try (cbv; lia).
    destruct Q as [-> [Lh' Lx]]. destruct h as [|[|h]]; [| |lia]; each x 7; try discriminate Tp;
      try discriminate Ns; try (exfalso; cbv in Nc; lia); do 2 eexists; (split; [reflexivity|lia]).
Qed.
