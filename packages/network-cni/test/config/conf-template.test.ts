import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { confTemplateValues, renderConfTemplate, writeConfList } from '../../src/index.js';
import { renderGoTemplate } from '../../src/config/go-template.js';

// the shape of the template in containerd's documentation
const TEMPLATE = `{
  "name": "k8s-pod-network",
  "cniVersion": "0.3.1",
  "plugins": [
    {
      "type": "ptp",
      "ipam": {
        "type": "host-local",
        "subnet": "{{.PodCIDR}}",
        "ranges": [{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}],
        "routes": [{{range $i, $route := .Routes}}{{if $i}}, {{end}}{"dst": "{{$route}}"}{{end}}]
      }
    }
  ]
}`;

t.test('values by the kubelet: first CIDR, all of them, a default route for each family', async (t) => {
  t.same(confTemplateValues('10.0.0.0/24'), { podCidr: '10.0.0.0/24', podCidrRanges: ['10.0.0.0/24'], routes: ['0.0.0.0/0'] });
  t.same(confTemplateValues('2001:4860:4860::/64, 10.0.0.0/24'), {
    podCidr: '2001:4860:4860::/64',
    podCidrRanges: ['2001:4860:4860::/64', '10.0.0.0/24'],
    routes: ['0.0.0.0/0', '::/0'],
  });
  t.same(confTemplateValues('fd00::/64').routes, ['::/0']);
  for (const bad of ['', '10.0.0.0', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/24,', '10.0.0.0/24,x/8', '10.0.0.0/-1']) {
    t.throws(() => confTemplateValues(bad), { name: 'TypeError', message: /pod_cidr: .* is no CIDR/ }, bad);
  }
});

t.test("containerd's template renders to a list", async (t) => {
  const rendered: unknown = JSON.parse(renderConfTemplate(TEMPLATE, confTemplateValues('10.0.0.0/24,fd00::/64')));
  t.match(rendered, {
    plugins: [
      {
        ipam: {
          subnet: '10.0.0.0/24',
          ranges: [[{ subnet: '10.0.0.0/24' }], [{ subnet: 'fd00::/64' }]],
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
    ],
  });
});

t.test('a template that is wrong, or gives no list, is said with its file', async (t) => {
  const values = confTemplateValues('10.0.0.0/24');
  t.throws(() => renderConfTemplate('{\n"name": {{.Nope}}}', values, '/t'), { name: 'CniConfigError', file: '/t', message: /line 2: there is no field \.Nope/ });
  t.throws(() => renderConfTemplate('{"name":"{{.PodCIDR}}"}', values, '/t'), { name: 'CniConfigError', file: '/t', field: 'plugins' });
});

t.test("renders what Go's text/template renders", async (t) => {
  const data = { Name: 'n', Empty: '', List: ['a', 'b'], None: [] };
  const cases: Array<[string, string]> = [
    ['plain }} text', 'plain }} text'],
    ['{{ .Name }}{{$.Name}}', 'nn'],
    ['{{range .List}}<{{.}}>{{end}}', '<a><b>'],
    ['{{range $e := .List}}{{$e}}{{$.Name}}{{end}}', 'anbn'],
    ['{{range $i, $e := .List}}{{$i}}={{$e}};{{end}}', '0=a;1=b;'],
    ['{{range .None}}x{{else}}none{{end}}', 'none'],
    ['{{if .Empty}}yes{{else}}no{{end}}', 'no'],
    ['{{if .None}}yes{{else if .List}}list{{else}}no{{end}}', 'list'],
    ['{{if .None}}yes{{else if .Empty}}list{{else}}no{{end}}', 'no'],
    ['{{if .Name}}a{{range .List}}{{if .}}{{.}}{{end}}{{end}}{{end}}', 'aab'],
    ['a {{/* a comment\nof two lines */}} b', 'a  b'],
    ['a  {{- .Name -}}  b', 'anb'],
    ['a\n{{- /* gone */ -}}\nb', 'ab'],
    ['{{range $i, $e := .List}}{{range $i, $f := $.List}}{{$i}}{{end}}{{$i}} {{end}}', '010 011 '],
  ];
  for (const [template, expected] of cases) t.equal(renderGoTemplate(template, data), expected, template);
});

t.test('what it does not support it refuses, with the line', async (t) => {
  const data = { Name: 'n', List: ['a'] };
  const cases: Array<[string, RegExp]> = [
    ['\n{{.Name', /line 2: "\{\{" without "\}\}"/],
    ['{{printf "%s" .Name}}', /line 1: unsupported action/],
    ['{{.Name | html}}', /unsupported action/],
    ['{{}}', /unsupported action/],
    ['{{if eq .Name "n"}}{{end}}', /unsupported action/],
    ['{{range .List}}', /line 1: no \{\{end\}\}/],
    ['{{if .Name}}x{{else}}y', /no \{\{end\}\} after \{\{else\}\}/],
    ['{{if .Name}}x{{else foo}}y{{end}}', /unexpected \{\{else foo\}\}/],
    ['a\n\n{{end}}', /line 3: unexpected \{\{end\}\}/],
    ['{{$x}}', /undefined variable \$x/],
    ['{{.List}}', /is a list; use range/],
    ['{{.}}', /is the whole data/],
    ['{{if $}}{{end}}', /is the whole data/],
    ['{{range .Name}}{{end}}', /which is no list/],
    ['{{range .List}}{{.Name}}{{end}}', /no field \.Name/],
  ];
  for (const [template, message] of cases) t.throws(() => renderGoTemplate(template, data), { name: 'TemplateError', message }, template);
});

t.test('a list is written whole, its directory made', async (t) => {
  const dir = join(t.testdir(), 'cni', 'net.d');
  const path = await writeConfList(dir, '10-criquet-net.conflist', 'one');
  t.equal(path, join(dir, '10-criquet-net.conflist'));
  await writeConfList(dir, '10-criquet-net.conflist', 'two');
  t.equal(await readFile(path, 'utf8'), 'two');
  t.equal((await stat(path)).mode & 0o777, 0o644);
  t.same(await readdir(dir), ['10-criquet-net.conflist'], 'nothing else is left');
});

t.test('a list that cannot be written leaves nothing', async (t) => {
  const dir = t.testdir({ 'x.conflist': { 'in the way': '' } });
  await t.rejects(writeConfList(dir, 'x.conflist', 'text'));
  t.same(await readdir(dir), ['x.conflist']);
});
