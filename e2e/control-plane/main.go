// Command control-plane is a Kubernetes control plane in one file, for the end-to-end tests of Reprieve: etcd,
// kube-apiserver, kube-controller-manager and kubectl, linked from their published Go modules. The tests need the
// real server's validation, admission and StatefulSet controller, and this way a Go toolchain is all that a machine
// must have: no container runtime, no release downloads, no cluster.
//
// The part is chosen by the name under which the program is called, or else by its first argument:
//
//	control-plane etcd --data-dir ...
//	ln -s control-plane kube-apiserver && ./kube-apiserver --etcd-servers ...
//
// A folder of such links is what KUBEBUILDER_ASSETS points to elsewhere. The tests build it by themselves
// (e2e/harness/binaries.rs), with the version texts that the linker has to fill in.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

var parts = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kubectl": func() {
		// kubectl prints its errors itself, in its own words.
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	},
}

func main() {
	if part, known := parts[filepath.Base(os.Args[0])]; known {
		part()
		return
	}
	if len(os.Args) > 1 {
		if part, known := parts[os.Args[1]]; known {
			// Each part reads os.Args and expects its own name in front.
			os.Args = os.Args[1:]
			part()
			return
		}
	}
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: %s PART [ARGUMENT...], PART being one of: %s\n",
		filepath.Base(os.Args[0]), strings.Join(names, ", "))
	os.Exit(2)
}
