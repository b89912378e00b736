"""WinoGrande (Sakaguchi et al. 2020): a blank and two options."""
