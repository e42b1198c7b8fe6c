(* More examples: tasks with the same priority, which execute in turns, and tasks that wait for memory. *)
From Coq Require Import Arith Lia Bool List NArith.
From Bulkhead Require Import Counting Tasks Losses Waits Below Certificate Examples.
From Bulkhead Require Supply Servers.
Import ListNotations.

(* The tasks of [Examples.whole] with the same priority: the second one begins. *)
Definition equals : vcpu :=
  {| above := []; at_place := Whole; late := 0;
     tasks := [{| wcet := 2; every := 10; jitter := 0; blocking := 0; suspension := 0; colors := 0;
                  accesses := Some 1%N; tied := true |}; two];
     reload := 0; sources := []; once := 0; interferers := []; on_way := 0; reloads_of_color := 0 |}.

Example equals_check : check equals
  [{| of := 0; response := 5; windows := [5%N] |}; {| of := 1; response := 5; windows := [5%N] |}] = true.
Proof. reflexivity. Qed.

(* As if the first one were above, 2 slots would be enough for it. *)
Example not_as_if_above : check equals [{| of := 0; response := 4; windows := [4%N] |}] = false.
Proof. reflexivity. Qed.

(* They may not evict each other's lines: nothing limits how often they change. *)
Example not_with_common_lines : check
  {| above := []; at_place := Whole; late := 0;
     tasks := [{| wcet := 2; every := 10; jitter := 0; blocking := 0; suspension := 0; colors := 1;
                  accesses := None; tied := true |};
               {| wcet := 3; every := 20; jitter := 0; blocking := 0; suspension := 0; colors := 1;
                  accesses := None; tied := false |}];
     reload := 1; sources := []; once := 0; interferers := []; on_way := 0; reloads_of_color := 0 |}
  [{| of := 0; response := 10; windows := [10%N] |}] = false.
Proof. reflexivity. Qed.

Definition in_turns := [Some (1, 0); Some (0, 0); Some (1, 0); Some (0, 0); Some (1, 0)].
Definition run_equals := run_of equals in_turns never.

(* The run takes as long as the bound says, and longer than if the first task were above. *)
Example turns_take_longer : ~ complete needed (in_list in_turns) 0 0 3 /\ complete needed (in_list in_turns) 1 0 5.
Proof. split; cbv; lia. Qed.

Theorem equals_is_obeyed : obeys equals run_equals.
Proof.
  split; [|split; [|split]].
  - apply valid_of; try (apply periods_positive; reflexivity); try (unfold tC; simpl; lia).
    intros x h k E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
    each x 5; injection E as <- <-; split; auto; cbv; lia.
  - constructor; [apply ordered|discriminate|]. intros. rewrite cnt_none; [lia|auto].
  - exact I.
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. apply loses_nothing; [reflexivity|].
    replace (last_of equals i) with 1 by (simpl in Li; destruct i as [|[|i]]; [reflexivity|reflexivity|lia]).
    intros x h k _ _ _ _ Q. pose proof Q as Q'.
    apply (pending_only equals _ never 5) in Q'; try (cbv; lia).
    destruct Q' as [-> [Lh Lx]]. destruct Q as [_ Nc].
    destruct h as [|[|h]]; [| |lia]; each x 5;
      try (exfalso; apply Nc; cbv; lia); do 2 eexists; (split; [reflexivity|lia]).
Qed.

(* Tasks that make one access each, beside a VM with a budget of one access in 4 slots, which delays by one slot: at
   once, or one slot after the period. *)
Definition beside : vcpu :=
  {| above := []; at_place := Whole; late := 0; tasks := [one; two]; reload := 0; sources := []; once := 0;
     interferers := [{| wait := 1;
       limits := Some [{| step := 1; span := 4; after := 1; credit := 1 |}] |}];
     on_way := 0; reloads_of_color := 0 |}.

Example beside_checks : check beside
  [{| of := 0; response := 3; windows := [3%N] |}; {| of := 1; response := 7; windows := [7%N] |}] = true.
Proof. reflexivity. Qed.
Example not_without_waiting : check beside [{| of := 1; response := 6; windows := [6%N] |}] = false.
Proof. reflexivity. Qed.

(* Each task waits for one slot, for the accesses of the first two periods. *)
Definition with_waits := [Some (0, 0); None; Some (0, 0); Some (1, 0); Some (1, 0); None; Some (1, 0)].
Definition waits_at (h : nat) x := match h with 0 => x =? 1 | 1 => x =? 5 | _ => false end.
Definition run_beside : run :=
  {| arr := fun h k => k * tT beside h; rel := fun h k => k * tT beside h; needs := needed;
     sched := in_list with_waits; susp := never; starts := fun _ => 0; does := behaves;
     unserved := fun _ => false; waits := fun _ x => waits_at 0 x || waits_at 1 x;
     whose := fun _ _ h k x => (k =? 0) && waits_at h x; early_one := fun _ _ _ _ => false;
     epoch := fun _ _ => 0; causes := fun _ _ p x => waits_at p x |}.

Lemma once_at n t w : cnt (fun x => x =? n) t w <= 1.
Proof.
  induction w; simpl; [lia|]. destruct (Nat.eqb_spec (t + w) n) as [E|]; [|lia].
  rewrite cnt_none; [lia|]. intros x X. apply Nat.eqb_neq. lia.
Qed.

Lemma waits_once h t w : cnt (waits_at h) t w <= 1.
Proof.
  destruct h as [|[|h]]; [apply (once_at 1)|apply (once_at 5)|]. rewrite cnt_none; auto.
Qed.

Lemma beside_in_list x h k : in_list with_waits x = Some (h, k) ->
  k = 0 /\ ~ complete needed (in_list with_waits) h k x.
Proof.
  intros E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
  each x 7; try discriminate E; injection E as <- <-; split; auto; cbv; lia.
Qed.

Theorem beside_is_obeyed : obeys beside run_beside.
Proof.
  assert (Va : valid (tC beside) (tT beside) (tJ beside) (arr run_beside) (rel run_beside) (needs run_beside)
    (sched run_beside)).
  { apply (valid_of beside with_waits never); try (apply periods_positive; reflexivity); try (unfold tC; simpl; lia).
    apply beside_in_list. }
  split; [exact Va|split; [|split; [exact I|]]].
  - constructor; [intros; simpl; lia|discriminate|]. intros. rewrite cnt_none; [lia|auto].
  - intros i Li. simpl in Li.
    assert (La : last_of beside i = i) by (destruct i as [|[|i]]; [reflexivity|reflexivity|lia]).
    split.
    + apply loses_nothing; [reflexivity|]. rewrite La.
      intros x h k _ St _ Lm Q. pose proof Q as Q'.
      apply (pending_only beside with_waits never 7) in Q'; try (cbv; lia).
      destruct Q' as [-> [Lh Lx]]. destruct Q as [_ Nc].
      destruct h as [|[|h]]; [| |lia]; each x 7; try discriminate St;
        try (exfalso; apply Nc; cbv; lia); do 2 eexists; (split; [reflexivity|lia]).
    + intros _ j Lj. simpl in Lj. assert (j = 0) by lia. subst j. split.
      * intros _. rewrite La. split; [|split].
        -- intros h k t w. unfold waits_of, wait_of. simpl.
           assert (D : forall a, 1 <= N.to_nat (1 * (counted_of (task_of beside h) + a))%N \/ 2 <= h).
           { intros a. destruct h as [|[|h]]; [left|left|right; lia]; change (counted_of _) with 1%N; lia. }
           destruct (D (if Nat.eqb h i then 0 else nth h (gammas_with beside i 0) 0)%N) as [G|G].
           ++ eapply Nat.le_trans; [|exact G]. destruct (k =? 0); simpl; [apply waits_once|].
              rewrite cnt_none; auto.
           ++ rewrite cnt_none; [lia|]. intros x _. destruct h as [|[|h]]; [lia|lia|]. apply andb_false_r.
        -- intros. rewrite cnt_none; [lia|auto].
        -- intros t0 w x [Qt Bu] X W. right. simpl in W. apply orb_true_iff in W.
           (* A job of task 0 in slot 1, one of task 1 in slot 5. *)
           assert (P0 : waits_at 0 x = true -> pending (rel run_beside) needed (in_list with_waits) 0 0 x).
           { intros E. apply Nat.eqb_eq in E. subst x. split; cbv; lia. }
           assert (P1 : waits_at 1 x = true -> pending (rel run_beside) needed (in_list with_waits) 1 0 x).
           { intros E. apply Nat.eqb_eq in E. subst x. split; cbv; lia. }
           assert (Kp : forall h, h <= i -> keeps beside i h = true).
           { intros h Lh. unfold keeps. destruct h as [|[|h]]; [apply orb_true_r|apply orb_true_r|lia]. }
           assert (Kc : forall h k y, h <= i -> complete needed (in_list with_waits) h k y ->
             complete (kept_needs beside run_beside i) (kept_sched beside run_beside i) h k y).
           { intros h k y Lh F. apply kept_complete; auto. }
           assert (T0 : forall h, h <= i -> pending (rel run_beside) needed (in_list with_waits) h 0 x ->
                        t0 <= rel run_beside h 0 <= x).
           { intros h Lh [R Nc]. split; auto. destruct (le_lt_dec t0 (rel run_beside h 0)); auto. exfalso.
             apply Nc. apply complete_mono with t0; [lia|]. apply (kept_complete beside run_beside i); auto. }
           assert (Tn : forall k, pending (rel run_beside) needed (in_list with_waits) i k x -> k = 0 ->
             turn (rel run_beside) (kept_needs beside run_beside i) (kept_sched beside run_beside i) i k x).
           { intros k [R Nc] ->. split; [exact R|split; [|lia]]. intros F. apply Nc.
             apply (kept_complete beside run_beside i); auto. }
           destruct W as [W|W].
           ++ destruct i as [|i].
              ** left. exists 0. split; [now apply Tn; [apply P0|]|exact W].
              ** right. exists 0, 0. split; [lia|split; [lia|split; [apply T0; auto; lia|exact W]]].
           ++ destruct i as [|[|i]]; [|left|lia].
              ** (* Then no job of task 0 is pending. *)
                 exfalso. apply Nat.eqb_eq in W. subst x. destruct (Bu 5 X) as [h [k [Lh Q]]]. apply kept_pending in Q. destruct Q as [_ Q].
                 assert (h = 0) by lia. subst h.
                 pose proof Q as Q'. apply (pending_only beside with_waits never 7) in Q'; try (cbv; lia).
                 destruct Q' as [-> _]. destruct Q as [_ Nc]. apply Nc. cbv. lia.
              ** exists 0. split; [now apply Tn; [apply P1|]|exact W].
      * split.
        -- intros c Lc. simpl in Lc. assert (c = 0) by lia. subst c. split.
           ++ intros p x E. simpl in E. unfold Supply.begin. simpl.
              destruct p as [|[|p]]; [| |discriminate E]; apply Nat.eqb_eq in E; subst x; cbn; lia.
           ++ intros _ p m t w. change (sum (fun d => cnt (waits_at (p + d)) t w) m <= m * 1 + 1).
              assert (G : sum (fun d => cnt (waits_at (p + d)) t w) m <= m * 1).
              { rewrite <- sum_const. apply sum_ext. intros. apply waits_once. }
              lia.
        -- intros x W. simpl in W. apply orb_true_iff in W. exists 0.
           destruct W as [W|W]; [exists 0|exists 1]; split; auto.
Qed.

(* A task that suspends itself, and that a section of the task below holds off when it wants to continue: on a PCPU of its
   own, or with a supply that is a hypothesis. A wait for a resource is such a suspension. *)
Definition promise := Promised {| kind := Servers.Deferrable; budget := 5; counted := 5; period := 5 |} 5.
Definition holding (p : bool) : vcpu :=
  {| above := []; at_place := if p then promise else Whole; late := 0;
     tasks := [{| wcet := 2; every := 10; jitter := 0; blocking := 1; suspension := 1; colors := 0;
                  accesses := None; tied := false |}; two];
     reload := 0; sources := []; once := 0; interferers := []; on_way := 0; reloads_of_color := 0 |}.

Example holding_checks p : check (holding p)
  [{| of := 0; response := 4; windows := [4%N] |}; {| of := 1; response := 5; windows := [5%N] |}] = true.
Proof. destruct p; reflexivity. Qed.
Example not_without_holding p : check (holding p) [{| of := 0; response := 3; windows := [3%N] |}] = false.
Proof. destruct p; reflexivity. Qed.

Definition held_off := [Some (0, 0); Some (1, 0); Some (1, 0); Some (0, 0); Some (1, 0)].
Definition sleeps_at_1 (h k x : nat) := (h =? 0) && (k =? 0) && (x =? 1).
Definition run_holding p : run :=
  {| arr := fun h k => k * tT (holding p) h; rel := fun h k => k * tT (holding p) h; needs := needed;
     sched := in_list held_off; susp := sleeps_at_1; starts := fun _ => 0;
     does := fun _ => {| Servers.used := fun _ => true; Servers.ready := fun _ => true; Servers.due := fun _ _ => 0 |};
     unserved := never 0 0; waits := fun _ _ => false; whose := fun _ _ _ _ _ => false;
     early_one := fun _ _ _ _ => false; epoch := fun _ _ => 0; causes := fun _ _ _ _ => false |}.

(* Both bounds are reached. *)
Example holding_takes_as_long : ~ complete needed (in_list held_off) 0 0 3 /\ ~ complete needed (in_list held_off) 1 0 4.
Proof. split; cbv; lia. Qed.

Theorem holding_is_obeyed p : obeys (holding p) (run_holding p).
Proof.
  split; [|split; [|split]].
  - apply (valid_of (holding p) held_off sleeps_at_1); try (apply periods_positive; destruct p; reflexivity);
      try (unfold tC; simpl; lia).
    intros x h k E. pose proof (in_list_short _ _ _ E) as L. simpl in L.
    each x 5; injection E as <- <-; split; auto; cbv; lia.
  - constructor; [intros; simpl; lia| |].
    + intros h k x Q. simpl in Q. unfold sleeps_at_1 in Q. rewrite !andb_true_iff, !Nat.eqb_eq in Q.
      destruct Q as [[-> ->] ->]. simpl. split; [lia|split]; [cbv; lia|intros; lia].
    + intros [|h] k t w.
      * eapply Nat.le_trans; [|apply (once_at 1 t w)]. apply cnt_le. intros x _ Q. simpl in Q.
        unfold sleeps_at_1 in Q. rewrite !andb_true_iff in Q. tauto.
      * rewrite cnt_none; [lia|auto].
  - destruct p; [|exact I]. unfold pcpu_obeys. cbn [at_place holding promise]. repeat split.
    + intros t w _. rewrite cnt_all by auto. unfold Supply.sbf, Supply.stair. cbn [budget period].
      change (N.to_nat 5) with 5. replace (w - (5 - 5 + (5 - 5))) with w by lia.
      pose proof (Nat.div_mod w 5 ltac:(lia)). lia.
    + intros. simpl. lia.
  - intros i Li. split; [|intros _ j Lj; simpl in Lj; lia]. simpl in Li. destruct i as [|[|i]]; [| |lia].
    + unfold loses_little. replace (is_background (holding p)) with false by (destruct p; reflexivity).
      intros t0 w a q [_ Bu] _.
      apply Nat.le_trans with (m := cnt (fun x => x =? 2) t0 w).
      * apply cnt_le. intros x X L. destruct (Bu x X) as [h [k [Lh Q]]]. apply kept_pending in Q. destruct Q as [_ Q].
        change (last_of (holding p) 0) with 0 in Lh. assert (h = 0) by lia. subst h. pose proof Q as Q'.
        apply (pending_only (holding p) held_off sleeps_at_1 5) in Q'; try (cbv; lia).
        destruct Q' as [-> [_ Lx]]. destruct Q as [_ Nc]. simpl in Lx.
        each x 5; try reflexivity; try (destruct p; discriminate L); exfalso; apply Nc; cbv; lia.
      * eapply Nat.le_trans; [apply once_at|]. unfold may_lose. simpl. lia.
    + apply loses_nothing; [destruct p; reflexivity|].
      change (last_of (holding p) 1) with 1.
      intros x h k _ _ _ _ Q. pose proof Q as Q'.
      apply (pending_only (holding p) held_off sleeps_at_1 5) in Q'; try (cbv; lia).
      destruct Q' as [-> [Lh Lx]]. destruct Q as [_ Nc].
      destruct h as [|[|h]]; [| |lia]; each x 5;
        try (exfalso; apply Nc; cbv; lia); do 2 eexists; (split; [reflexivity|lia]).
Qed.
