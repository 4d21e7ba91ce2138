//! The tree of manifests that is scanned: databases and other workloads, as charts render them, each a little different.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// One kind of workload in the tree.
struct Recipe {
    image: &'static str,
    port: u16,
    liveness: &'static str,
    readiness: &'static str,
    environment: &'static [(&'static str, &'static str)],
    data: &'static str,
}

/// About one in three is a database, as in a cluster.
const RECIPES: [Recipe; 12] = [
    Recipe {
        image: "docker.io/bitnami/postgresql:17.2.0",
        port: 5432,
        liveness: "exec:\n  command:\n    - /bin/sh\n    - -c\n    - exec pg_isready -U \"app\" -d \"dbname=app\" -h 127.0.0.1 -p 5432",
        readiness: "exec:\n  command:\n    - /bin/sh\n    - -c\n    - -e\n    - |\n      exec pg_isready -U \"app\" -h 127.0.0.1 -p 5432\n      [ -f /opt/tmp/.initialized ] || [ -f /data/.initialized ]",
        environment: &[("POSTGRESQL_PORT_NUMBER", "5432"), ("PGDATA", "/data/pg"), ("POSTGRES_DB", "app")],
        data: "/var/lib/postgresql",
    },
    WEB,
    Recipe {
        image: "redis:7.4",
        port: 6379,
        liveness: "exec:\n  command: [sh, -c, \"redis-cli -h localhost ping | grep PONG\"]",
        readiness: "exec:\n  command: [sh, -c, \"redis-cli -h localhost ping\"]",
        environment: &[("REDIS_REPLICATION_MODE", "master")],
        data: "/data",
    },
    WEB,
    WORKER,
    Recipe {
        image: "mysql:8.4",
        port: 3306,
        liveness: "exec:\n  command: [mysqladmin, ping, -h, localhost]",
        readiness: "exec:\n  command: [mysql, -h, 127.0.0.1, -e, SELECT 1]",
        environment: &[("MYSQL_DATABASE", "app"), ("MYSQL_ROOT_HOST", "%")],
        data: "/var/lib/mysql",
    },
    WEB,
    WORKER,
    Recipe {
        image: "mongo:7",
        port: 27017,
        liveness: "exec:\n  command: [mongosh, --quiet, --eval, \"db.adminCommand('ping')\"]",
        readiness: "exec:\n  command: [mongosh, --quiet, --eval, \"db.adminCommand('ping')\"]",
        environment: &[("MONGO_INITDB_DATABASE", "app")],
        data: "/data/db",
    },
    WEB,
    WEB,
    WORKER,
];

const WEB: Recipe = Recipe {
    image: "ghcr.io/example/storefront:1.42.0",
    port: 8080,
    liveness: "httpGet:\n  path: /healthz\n  port: http",
    readiness: "httpGet:\n  path: /readyz\n  port: http",
    environment: &[("DATABASE_HOST", "postgres"), ("REDIS_URL", "redis://redis:6379")],
    data: "/var/cache/app",
};

const WORKER: Recipe = Recipe {
    image: "ghcr.io/example/worker:1.42.0",
    port: 9090,
    liveness: "exec:\n  command: [/bin/sh, -c, \"test $(find /tmp/alive -mmin -1 | wc -l) -gt 0\"]",
    readiness: "tcpSocket:\n  port: http",
    environment: &[("QUEUE", "default"), ("CONCURRENCY", "8")],
    data: "/tmp",
};

/// Writes that many files, 500 to a folder, and says how many bytes they are.
///
/// # Errors
/// What the system says.
pub(super) fn write(root: &Path, count: usize) -> io::Result<usize> {
    let mut bytes = 0;
    for number in 0..count {
        let folder = root.join(format!("{:03}", number / 500));
        fs::create_dir_all(&folder)?;
        let text = manifest(&RECIPES[number % RECIPES.len()], number);
        bytes += text.len();
        fs::write(folder.join(format!("{number:05}.yaml")), text)?;
    }
    Ok(bytes)
}

/// The files of a tree, in order.
///
/// # Errors
/// What the system says.
pub(super) fn files(root: &Path) -> io::Result<Vec<OsString>> {
    let mut files = Vec::new();
    for folder in fs::read_dir(root)? {
        for file in fs::read_dir(folder?.path())? {
            files.push(file?.path().into_os_string());
        }
    }
    files.sort();
    Ok(files)
}

fn manifest(recipe: &Recipe, number: usize) -> String {
    let name = format!("app-{number}");
    let mut text = String::new();
    let kind = if recipe.data.starts_with("/tmp") || recipe.port == 8080 { "Deployment" } else { "StatefulSet" };
    let _ = write!(
        text,
        "# Source: example/templates/{name}.yaml\napiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: team-{}\n  labels: &labels\n    app.kubernetes.io/name: {name}\n    app.kubernetes.io/instance: release-{number}\n    app.kubernetes.io/part-of: shop\n    app.kubernetes.io/managed-by: Helm\n    helm.sh/chart: example-1.{number}.0\nspec:\n  replicas: {}\n",
        number % 40,
        number % 3 + 1
    );
    if kind == "StatefulSet" {
        let _ = writeln!(text, "  serviceName: {name}-headless\n  podManagementPolicy: OrderedReady");
    }
    let _ = write!(
        text,
        "  selector:\n    matchLabels:\n      app.kubernetes.io/instance: release-{number}\n  template:\n    metadata:\n      labels: *labels\n      annotations:\n        checksum/config: \"{number:064x}\"\n        prometheus.io/scrape: \"true\"\n    spec:\n      serviceAccountName: {name}\n      automountServiceAccountToken: false\n      affinity:\n        podAntiAffinity:\n          preferredDuringSchedulingIgnoredDuringExecution:\n            - weight: 1\n              podAffinityTerm:\n                topologyKey: kubernetes.io/hostname\n                labelSelector:\n                  matchLabels:\n                    app.kubernetes.io/instance: release-{number}\n      securityContext:\n        fsGroup: 1001\n        fsGroupChangePolicy: Always\n      containers:\n        - name: main\n          image: {}\n          imagePullPolicy: IfNotPresent\n          securityContext:\n            runAsNonRoot: true\n            runAsUser: 1001\n            allowPrivilegeEscalation: false\n            capabilities:\n              drop: [\"ALL\"]\n            seccompProfile:\n              type: RuntimeDefault\n          env:\n",
        recipe.image
    );
    for (name, value) in recipe.environment {
        let _ = writeln!(text, "            - name: {name}\n              value: \"{value}\"");
    }
    // Charts state many more than anybody needs.
    for index in 0..16 {
        let _ =
            writeln!(text, "            - name: SETTING_{index}\n              value: \"value {index} of {number}\"");
    }
    let _ = write!(
        text,
        "            - name: PASSWORD\n              valueFrom:\n                secretKeyRef:\n                  name: {name}\n                  key: password\n          ports:\n            - name: http\n              containerPort: {}\n          livenessProbe:\n            initialDelaySeconds: {}\n            periodSeconds: 10\n            timeoutSeconds: {}\n            failureThreshold: 3\n{}          readinessProbe:\n            initialDelaySeconds: 5\n            periodSeconds: 10\n            timeoutSeconds: 5\n{}          resources:\n            requests:\n              cpu: {}m\n              memory: 256Mi\n            limits:\n              memory: 512Mi\n          volumeMounts:\n            - name: data\n              mountPath: {}\n            - name: scratch\n              mountPath: /scratch\n",
        recipe.port,
        number % 60,
        number % 5 + 1,
        indented(recipe.liveness),
        indented(recipe.readiness),
        100 + number % 400,
        recipe.data
    );
    let _ = write!(
        text,
        "        - name: metrics\n          image: ghcr.io/example/metrics-exporter:0.15.0\n          args: [\"--listen\", \":9187\"]\n          ports:\n            - {{name: metrics, containerPort: 9187}}\n          livenessProbe:\n            httpGet: {{path: /, port: metrics}}\n            initialDelaySeconds: 5\n          resources:\n            requests: {{cpu: 10m, memory: 32Mi}}\n            limits: {{memory: 64Mi}}\n      volumes:\n        - name: scratch\n          emptyDir: {{}}\n        - name: data\n          emptyDir: {{}}\n"
    );
    text
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "            {line}");
        all
    })
}
