"""An image by Pillow."""
import numpy as np
from PIL import Image

grad = np.tile(np.arange(0, 256, 4, dtype=np.uint8), (32, 1))
img = Image.fromarray(grad)
print(img.size, img.mode)
small = np.array(img.resize((16, 8)))
print(small.shape, small.dtype, small[0])
rgb = np.stack([grad, grad[:, ::-1], np.zeros_like(grad)], axis=-1)
back = np.asarray(Image.fromarray(rgb).convert("L"))
print(back.shape, back.sum())
