# SPDX-License-Identifier: Apache-2.0
"""Certificates for tests, made by openssl as the documentation tells operators to, and such as they must
not be: expired, of tomorrow, of another CA."""
import os
import shutil
import subprocess

CONFIG = """
[ca]
default_ca = here
[here]
dir = {dir}
database = $dir/index
new_certs_dir = $dir/new
serial = $dir/serial
default_md = sha256
policy = any
email_in_dn = no
unique_subject = no
copy_extensions = copy
[any]
commonName = optional
"""


def openssl(*args):
    done = subprocess.run(["openssl", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (args, done.stderr)


class Authority:
    """A CA of its own, in a directory; its certificate is .path."""

    def __init__(self, directory, name):
        self.dir = os.path.abspath(directory)
        self.path = os.path.join(self.dir, "ca.pem")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(os.path.join(self.dir, "new"))
        self.config = os.path.join(self.dir, "config")
        for file, text in (("config", CONFIG.format(dir=self.dir)), ("index", ""), ("serial", "1000\n")):
            with open(os.path.join(self.dir, file), "w", encoding="ascii") as f:
                f.write(text)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-days", "3650", "-keyout", os.path.join(self.dir, "ca.key"),
                "-out", self.path)

    def issue(self, name, names="", dates=("20200101000000Z", "20990101000000Z"), usage="", cn=None):
        """(certificate, key): for these alternative names, between these dates."""
        cert, key, request = (os.path.join(self.dir, f"{name}.{kind}") for kind in ("pem", "key", "csr"))
        extensions = []
        if names:
            extensions += ["-addext", f"subjectAltName={names}"]
        if usage:
            extensions += ["-addext", f"extendedKeyUsage={usage}"]
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name if cn is None else cn}", "-keyout", key, "-out", request, *extensions)
        openssl("ca", "-batch", "-notext", "-config", self.config, "-cert", self.path, "-keyfile",
                os.path.join(self.dir, "ca.key"), "-startdate", dates[0], "-enddate", dates[1], "-in",
                request, "-out", cert)
        return cert, key
