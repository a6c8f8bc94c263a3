#!/usr/bin/env python3
"""Which of ATen's operators models are made of, and which of those Reprise has: docs/models.md.

  model_ops.py --record [NAME...]   runs each model (small, random weights) under PyTorch, and writes what it calls to docs/model_ops.json.
                                    Needs torch, torchvision, transformers and diffusers from PyPI.
  model_ops.py REPRISE              writes the page from that file and the operator table (`reprise ops`)
  model_ops.py REPRISE --check      exit code 1 if the page is not what it would write
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import operators_page

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "docs" / "model_ops.json"
PAGE = ROOT / "docs" / "models.md"

# What a dispatcher calls by another name than programs do.
WRITTEN_AS = {
    "_to_copy": "to", "_unsafe_view": "view", "_reshape_alias": "view", "native_layer_norm": "layer_norm", "_fused_rms_norm": "rms_norm", "_softmax": "softmax", "_safe_softmax": "softmax", "_log_softmax": "log_softmax",
    "native_batch_norm": "batch_norm", "_native_batch_norm_legit_no_training": "batch_norm", "native_group_norm": "group_norm", "_native_batch_norm_legit": "instance_norm",
    "mkldnn_convolution": "convolution", "_conv_depthwise2d": "convolution", "slow_conv2d_forward": "convolution", "slow_conv_transpose2d": "convolution", "thnn_conv2d": "convolution",
    "max_pool1d_with_indices": "max_pool1d", "max_pool2d_with_indices": "max_pool2d", "max_pool3d_with_indices": "max_pool3d", "_adaptive_avg_pool2d": "adaptive_avg_pool2d", "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention", "_scaled_dot_product_attention_math_for_mps": "scaled_dot_product_attention", "_scaled_dot_product_fused_attention_overrideable": "scaled_dot_product_attention",
    "native_dropout": "dropout", "_local_scalar_dense": "item", "lift_fresh": "clone", "lift_fresh_copy": "clone", "_unsafe_index": "index", "_unsafe_index_put": "index_put", "constant_pad_nd": "pad", "reflection_pad1d": "pad", "reflection_pad2d": "pad",
    "replication_pad1d": "pad", "replication_pad2d": "pad", "replication_pad3d": "pad", "_cdist_forward": "cdist", "_euclidean_dist": "cdist", "im2col": "im2col", "upsample_nearest1d": "interpolate", "upsample_nearest2d": "interpolate",
    "upsample_nearest3d": "interpolate", "_upsample_nearest_exact2d": "interpolate", "upsample_linear1d": "interpolate", "upsample_bilinear2d": "interpolate", "upsample_bicubic2d": "interpolate", "_upsample_bicubic2d_aa": "interpolate",
    "_upsample_bilinear2d_aa": "interpolate", "upsample_trilinear3d": "interpolate", "grid_sampler_2d": "grid_sample", "grid_sampler_3d": "grid_sample", "_fft_r2c": "rfft", "_fft_c2r": "irfft", "_fft_c2c": "fft", "_embedding_bag": "embedding_bag",
    "_embedding_bag_forward_only": "embedding_bag", "_grouped_mm": "grouped_mm", "_unique2": "unique", "_trilinear": "bilinear", "new_empty": "empty", "new_empty_strided": "empty", "empty_strided": "empty", "new_zeros": "zeros", "new_ones": "ones",
    "new_full": "full", "resolve_conj": "clone", "resolve_neg": "clone", "_conj": "conj", "linalg_vector_norm": "norm", "linalg_inv_ex": "inverse", "linalg_cholesky_ex": "cholesky", "_linalg_solve_ex": "solve", "is_same_size": "equal", "max": "max",
    "random": "randint", "uniform": "rand", "normal": "randn", "normal_functional": "randn", "rsub": "sub", "_cummax_helper": "cummax", "_cummin_helper": "cummin", "mse_loss": "mse_loss", "view_copy": "view", "squeeze_copy": "squeeze",
    "split_with_sizes_copy": "split_with_sizes", "var_mean": "var", "std_mean": "std", "aminmax": "amax", "lstm": "lstm", "_thnn_fused_lstm_cell": "lstm_cell", "mkldnn_rnn_layer": "lstm", "nll_loss_forward": "nll_loss", "_nested_tensor_from_mask": "",
    "_is_all_true": "all", "_is_any_true": "any", "_assert_async": "", "_assert_tensor_metadata": "", "_has_compatible_shallow_copy_type": "", "_weight_norm_interface": "norm", "sym_size": "", "profiler": "", "unsafe_split": "split", "unsafe_chunk": "chunk", "stack": "stack",
}


def workloads():
    """{name: (area, what makes a call of it)}"""
    import torch
    import torchvision
    import transformers as tf
    import diffusers

    ids = torch.randint(0, 64, (2, 12))
    picture = torch.randn(1, 3, 64, 64)
    small = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2)

    def decoder(config, **more):
        model = tf.AutoModelForCausalLM.from_config(config(**{**small, **more})).eval()

        def step():
            first = model(ids, use_cache=True)
            model(ids[:, :1], past_key_values=first.past_key_values, use_cache=True)
        return step

    def of(model, *args, **kwargs):
        model = model.eval()
        return lambda: model(*args, **kwargs)

    def vision(name, **kwargs):
        return of(getattr(torchvision.models, name)(weights=None, **kwargs), picture)

    def detection(name):
        return of(getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None), [torch.rand(3, 96, 96)])

    def seq2seq(model):
        model = model.eval()
        return lambda: model(input_ids=ids, decoder_input_ids=ids[:, :5])

    vit = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=64, patch_size=16)
    moe = dict(num_experts=4, num_experts_per_tok=2, num_local_experts=4, moe_intermediate_size=24)
    text = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
    audio = torch.randn(1, 4000)

    def llava():
        config = tf.LlavaConfig(vision_config=tf.CLIPVisionConfig(**vit), text_config=tf.LlamaConfig(**small), image_token_index=63)
        model = tf.LlavaForConditionalGeneration(config).eval()
        tokens = torch.cat([torch.full((1, 16), 63), ids[:1] % 63], 1)
        return lambda: model(input_ids=tokens, pixel_values=picture)

    def dlrm():
        bags = torch.nn.ModuleList(torch.nn.EmbeddingBag(50, 8, mode="sum") for _ in range(3))
        bottom, top = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()), torch.nn.Sequential(torch.nn.Linear(8 + 6, 1), torch.nn.Sigmoid())
        dense, sparse, offsets = torch.randn(5, 4), torch.randint(0, 50, (10,)), torch.arange(0, 10, 2)

        def run():
            x = bottom(dense)
            features = torch.stack([x] + [bag(sparse, offsets) for bag in bags], 1)
            products = torch.bmm(features, features.transpose(1, 2))
            i, j = torch.tril_indices(4, 4, -1)
            return top(torch.cat([x, products[:, i, j]], 1))
        return run

    def unet():
        model = diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                                               cross_attention_dim=32, attention_head_dim=8).eval()
        return lambda: model(torch.randn(1, 4, 16, 16), torch.tensor([3]), torch.randn(1, 5, 32))

    def vae():
        model = diffusers.AutoencoderKL(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, norm_num_groups=8).eval()
        return lambda: model.decode(model.encode(torch.randn(1, 3, 32, 32)).latent_dist.mean)

    def sd3():
        model = diffusers.SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=4, joint_attention_dim=32, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4).eval()
        return lambda: model(torch.randn(1, 4, 16, 16), torch.randn(1, 5, 32), torch.randn(1, 16), torch.tensor([3]))

    def flux():
        model = diffusers.FluxTransformer2DModel(patch_size=1, in_channels=16, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=16, axes_dims_rope=(4, 4, 8)).eval()
        return lambda: model(torch.randn(1, 16, 16), torch.randn(1, 5, 32), torch.randn(1, 16), torch.tensor([1.0]), torch.zeros(16, 3), torch.zeros(5, 3))

    def sampling():
        logits = torch.randn(2, 64)

        def run():
            values, indices = torch.sort(logits / 0.8, descending=True)
            keep = values.softmax(-1).cumsum(-1) < 0.9
            picked = torch.where(keep, values, -torch.inf).softmax(-1)
            noise = torch.empty_like(picked).exponential_(1)
            return indices.gather(-1, (picked / noise).argmax(-1, True))
        return run

    L, V, A, D = "language", "vision", "sound", "pictures and others"
    return {
        "Llama": (L, lambda: decoder(tf.LlamaConfig)), "Qwen3": (L, lambda: decoder(tf.Qwen3Config, head_dim=8)), "Gemma3": (L, lambda: decoder(tf.Gemma3TextConfig, head_dim=8)), "Phi3": (L, lambda: decoder(tf.Phi3Config)),
        "GPT-2": (L, lambda: of(tf.GPT2LMHeadModel(tf.GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=64)), ids)), "Mixtral": (L, lambda: decoder(tf.MixtralConfig, **moe)),
        "Qwen3-MoE": (L, lambda: decoder(tf.Qwen3MoeConfig, head_dim=8, **moe)),
        "DeepSeek-V3": (L, lambda: decoder(tf.DeepseekV3Config, n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, moe_intermediate_size=24, first_k_dense_replace=1, num_key_value_heads=4)),
        "GPT-OSS": (L, lambda: decoder(tf.GptOssConfig, head_dim=8, **moe)), "Mamba2": (L, lambda: of(tf.Mamba2ForCausalLM(tf.Mamba2Config(vocab_size=64, hidden_size=32, num_hidden_layers=2, state_size=16, head_dim=8, num_heads=8, n_groups=1, chunk_size=8)), ids)),
        "BERT": (L, lambda: of(tf.BertModel(tf.BertConfig(**text)), ids)), "RoBERTa": (L, lambda: of(tf.RobertaModel(tf.RobertaConfig(**text)), ids)), "DistilBERT": (L, lambda: of(tf.DistilBertModel(tf.DistilBertConfig(vocab_size=64, dim=32, hidden_dim=48, n_layers=2, n_heads=4)), ids)),
        "T5": (L, lambda: seq2seq(tf.T5Model(tf.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)))), "BART": (L, lambda: seq2seq(tf.BartModel(tf.BartConfig(vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=48, decoder_ffn_dim=48, encoder_attention_heads=4, decoder_attention_heads=4)))),
        "sampling a token": (L, sampling), "LLaVA": (L, llava),
        "ResNet-18": (V, lambda: vision("resnet18")), "MobileNetV3": (V, lambda: vision("mobilenet_v3_small")), "EfficientNet-B0": (V, lambda: vision("efficientnet_b0")), "ConvNeXt": (V, lambda: vision("convnext_tiny")), "DenseNet": (V, lambda: vision("densenet121")),
        "ViT": (V, lambda: of(tf.ViTModel(tf.ViTConfig(**vit)), picture)), "SigLIP": (V, lambda: of(tf.SiglipVisionModel(tf.SiglipVisionConfig(**vit)), picture)), "CLIP": (V, lambda: of(tf.CLIPVisionModel(tf.CLIPVisionConfig(**vit)), picture)),
        "Swin": (V, lambda: vision("swin_t")), "DINOv2": (V, lambda: of(tf.Dinov2Model(tf.Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8)), picture)),
        "DeepLabV3": (V, lambda: of(torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None), picture)),
        "SSD": (V, lambda: detection("ssdlite320_mobilenet_v3_large")), "Faster R-CNN": (V, lambda: detection("fasterrcnn_mobilenet_v3_large_320_fpn")),
        "Whisper": (A, lambda: of(tf.WhisperModel(tf.WhisperConfig(vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=16, max_source_positions=50, max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)), torch.randn(1, 16, 100), decoder_input_ids=ids[:1])),
        "log-mel front end": (A, lambda: lambda: (torch.stft(audio, 400, 160, window=torch.hann_window(400), return_complex=True).abs() ** 2).clamp(min=1e-10).log10()),
        "Wav2Vec2": (A, lambda: of(tf.Wav2Vec2Model(tf.Wav2Vec2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=(16, 16), conv_stride=(5, 4), conv_kernel=(10, 8), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4)), audio)),
        "VITS": (A, lambda: of(tf.VitsModel(tf.VitsConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, ffn_dim=48, flow_size=32, spectrogram_bins=33, prior_encoder_num_flows=1, upsample_initial_channel=32, wavenet_dilation_rate=1)), ids[:1])),
        "HiFi-GAN": (A, lambda: of(tf.SpeechT5HifiGan(tf.SpeechT5HifiGanConfig(upsample_initial_channel=32)), torch.randn(10, 80))),
        "EnCodec": (A, lambda: of(tf.EncodecModel(tf.EncodecConfig(num_filters=4, hidden_size=16, codebook_dim=16, num_residual_layers=1)), audio[:, None, :])),
        "Stable Diffusion UNet": (D, unet), "Stable Diffusion VAE": (D, vae), "SD3": (D, sd3), "FLUX": (D, flux), "DLRM": (D, dlrm),
    }


def record(wanted):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Record(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            namespace, name = func._schema.name.split("::")
            self.names.add(name if namespace == "aten" else f"{namespace}::{name}")
            return func(*args, **(kwargs or {}))

    all_of = workloads()
    for name in wanted:
        if name not in all_of:
            sys.exit(f"there is no model '{name}': {', '.join(all_of)}")
    known = json.loads(RECORDED.read_text())["models"] if RECORDED.exists() and wanted else {}
    failed = []
    for name, (area, make) in all_of.items():
        if wanted and name not in wanted:
            continue
        torch.manual_seed(0)
        try:
            call = make()
            with torch.no_grad(), Record() as r:
                call()
        except Exception as e:  # a model that a version of its library cannot run
            failed.append(name)
            print(f"{name}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}", file=sys.stderr)
            continue
        known[name] = {"area": area, "operators": sorted(r.names)}
        print(f"{name}: {len(r.names)} operators")
    RECORDED.write_text(json.dumps({"torch": torch.__version__.split("+")[0], "models": {n: known[n] for n in all_of if n in known}}, indent=1) + "\n")
    if failed:
        sys.exit(f"not recorded: {', '.join(failed)}")


def page(tool):
    known = operators_page.known(tool)
    recorded = json.loads(RECORDED.read_text())

    def missing(operators):
        lacks = set()
        for full in operators:
            name = full.split("::")[-1]
            plain = name.rstrip("_") if not name.startswith("__") else name
            as_written = WRITTEN_AS.get(name, WRITTEN_AS.get(plain, plain))
            if as_written and name not in known and as_written not in known:
                lacks.add(as_written)
        return sorted(lacks)

    lacks = {name: missing(m["operators"]) for name, m in recorded["models"].items()}
    have = sum(not l for l in lacks.values())
    out = ["# Which models wait for what", "",
           f"What {len(lacks)} models call, recorded by `scripts/model_ops.py --record` with PyTorch {recorded['torch']} (small sizes, random weights; what is called does not depend on them), against the operator table and the public functions. "
           f"**{have} of {len(lacks)} wait for nothing**: every operator that they call is here. That says which programs can be written, not that somebody has ported them; those that are: [the gallery](examples/index.md). "
           "This page is generated (`./run docs --write`).", "", "| model | operators | waits for |", "|---|---|---|"]
    area = None
    for name, m in recorded["models"].items():
        if m["area"] != area:
            area = m["area"]
            out.append(f"| **{area}** | | |")
        out.append(f"| {name} | {len(m['operators'])} | {' '.join(f'`{n}`' for n in lacks[name]) or 'nothing'} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(sys.argv[2:])
    elif len(sys.argv) in (2, 3) and not sys.argv[1].startswith("-") and sys.argv[2:] in ([], ["--check"]):
        text = page(sys.argv[1])
        if len(sys.argv) == 2:
            PAGE.write_text(text)
        elif not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/models.md is not what the operator table and docs/model_ops.json say: ./run docs --write")
    else:
        sys.exit(__doc__)
