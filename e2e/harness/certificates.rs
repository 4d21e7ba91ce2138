use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};

use super::failure::{Context, Failure};

/// The keys of one control plane, as files in its folder.
pub struct Certificates {
    /// The authority that signed the server's certificate, in PEM.
    pub authority: String,
    /// The same as a file.
    pub authority_file: PathBuf,
    /// The API server's certificate.
    pub serving_certificate: PathBuf,
    /// The key to it.
    pub serving_key: PathBuf,
    /// Signs the tokens of service accounts.
    pub account_key: PathBuf,
    /// Checks them.
    pub account_public_key: PathBuf,
}

impl Certificates {
    /// Makes new keys and writes them into `folder`. Elliptic curves, because RSA keys take seconds in a debug build.
    pub fn create_in(folder: &Path) -> Result<Self, Failure> {
        let mut parameters = CertificateParams::default();
        // Another name than the server's: equal ones make a verifier take the server for its own issuer.
        parameters.distinguished_name.push(DnType::CommonName, "reprieve e2e authority");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?;

        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
        let serving_key = KeyPair::generate()?;
        let serving = CertificateParams::new(names)?.signed_by(&serving_key, &authority)?;
        let account_key = KeyPair::generate()?;

        let write = |name: &str, text: String| {
            let path = folder.join(name);
            std::fs::write(&path, text).context(format_args!("cannot write {}", path.display()))?;
            Ok::<_, Failure>(path)
        };
        Ok(Self {
            authority_file: write("authority.crt", authority.pem())?,
            authority: authority.pem(),
            serving_certificate: write("serving.crt", serving.pem())?,
            serving_key: write("serving.key", serving_key.serialize_pem())?,
            account_key: write("account.key", account_key.serialize_pem())?,
            account_public_key: write("account.pub", account_key.public_key_pem())?,
        })
    }
}
