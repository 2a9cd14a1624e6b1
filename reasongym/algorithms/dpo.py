"""Direct preference optimization: Rafailov et al. 2023, arXiv 2305.18290, equation 7.

    s(o) = log pi_theta(o | q) - log pi_ref(o | q)                      summed over the completion's tokens
    l    = -log sigmoid(beta (s(chosen) - s(rejected)))

The gradient, -beta sigmoid(-beta h) (grad log pi(chosen) - grad log pi(rejected)), weighs a pair by how wrongly the
implicit rewards beta s order it. Before the first update s = 0 and every pair's loss is log 2.

Assumption: preferences follow Bradley and Terry's model in a reward whose KL-regularised optimum is the policy; both
completions answer the same prompt; the reference is the policy that training starts from.

Edge cases
- Two identical completions: loss log 2 (ipo: 1 / (4 beta^2)) and gradients that cancel exactly.
- Label smoothing e: the gradient in h is beta (sigmoid(beta h) - (1 - e)), zero at beta h = log((1 - e) / e). So e = 0
  never rests, and e = 1/2 rests at h = 0: it learns no order and pulls the margin back to none.
- See `preference` for masked positions, empty completions and large log-ratios.

Departures from the paper
1. loss_kind "ipo": (h - 1 / (2 beta))^2, identity preference optimization, Azar et al. 2023, arXiv 2310.12036, equation
   17, beta for its tau. It stops at a margin of 1 / (2 beta), where the sigmoid's log-ratios grow without end on labels
   that never contradict one another.
2. length "mean" divides s by the completion's number of trainable tokens, for either loss. IPO is published summed and
   widely run averaged, and the two want different beta: at 100 tokens a target of 5 is 0.05 or 5 nats a token.
3. label_smoothing e, for either loss: the expected loss where a share e of the labels is flipped (conservative DPO,
   Mitchell 2023). ipo then rests at h = (1 - 2 e) / (2 beta). The robust form ((1 - e) f(h) - e f(-h)) / (1 - 2 e)
   (Chowdhury et al. 2024, arXiv 2403.00409) is unbiased for clean labels but unbounded below; it is not ours.
4. nll_coefficient adds the negative log-likelihood of the chosen, a mean over its own trainable tokens (Pang et al.
   2024, arXiv 2404.19733): the step's mean over pairs, not over tokens, so a long answer weighs as much as a short one.
5. Implicit rewards are of s as the loss compares it: with length "mean" they are per token.
"""

from reasongym.algorithms.about import About
from reasongym.algorithms.preference import pair_loss

__all__ = ["ABOUT", "loss"]

ABOUT = About(title="Direct preference optimization", paper="Rafailov et al. 2023, arXiv 2305.18290", kind="pairs",
              advantage="none: chosen against rejected", ratio="whole completion to the reference", clip="none",
              aggregation="mean over pairs", kl="in the loss, by beta")

loss = pair_loss
"""The loss of every pair; see `preference.pair_loss` for arguments and shapes."""
