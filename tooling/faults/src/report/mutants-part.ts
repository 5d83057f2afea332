import { scoreOf, type FileResult, type MutantsResultFile } from '@looseleaf-tooling/mutants'
import { markdownTable } from '../markdown-table.ts'
import { left, number, right, sum } from './format.ts'

/** Renders how many mutants of the protocol's code are killed, and which survive. */
export function mutantsPart({ run, commit }: MutantsResultFile): string {
  const packages = [...Map.groupBy(run.files, ({ file }) => file.split('/')[1] ?? '')]
  const rows = packages.map(([name, files]) => row(name, files))
  const survived = run.files.flatMap(({ file, survived: all }) => all.map((each) => `- ${at(file, each)}`))
  const equivalent = run.files.flatMap(({ file, equivalent: all }) =>
    all.map(([name, reason]) => `- \`${file}\` ${code(name)}: ${reason}`),
  )
  return `## Mistakes that tests notice

\`pnpm mutants\` puts one small mistake at a time into the code that keeps entities and index rows together: a guard that is
gone, a bound that is off by one, a call that is not made or not waited for. The tests of the packages, without the
simulation and the attacks above, have to fail.

${markdownTable(COLUMNS, [...rows, row('**all**', run.files)])}

Measured at ${commit}. A mutant that hangs is one with which a test did not end.${list('No test notices', survived)}${list('No test can notice, for these are no mistakes', equivalent)}`
}

const COLUMNS = [
  left('package'),
  right('mutants'),
  right('killed'),
  right('hang'),
  right('not noticed'),
  right('noticed'),
  right('no mistakes'),
]

function row(name: string, files: readonly FileResult[]): string[] {
  const total = (count: (file: FileResult) => number): string => number(sum(files.map(count)))
  return [
    name,
    total(({ mutants }) => mutants),
    total(({ killed }) => killed),
    total(({ hung }) => hung),
    total(({ survived }) => survived.length),
    `${scoreOf(files).toFixed(1)} %`,
    total(({ equivalent }) => equivalent.length),
  ]
}

/** Formats a survivor as `line name` of its file. */
function at(file: string, survivor: string): string {
  const space = survivor.indexOf(' ')
  return `\`${file}:${survivor.slice(0, space)}\` ${code(survivor.slice(space + 1))}`
}

/** Folds the lines into a collapsed section. */
function list(what: string, lines: readonly string[]): string {
  if (lines.length === 0) return ''
  return `\n\n<details>\n<summary>${what}: ${number(lines.length)}</summary>\n\n${lines.join('\n')}\n\n</details>`
}

function code(text: string): string {
  if (!text.includes('`')) return `\`${text}\``
  // Without a space, a backtick at either end would merge with the enclosing ones.
  const edge = /^`|`$/.test(text) ? ' ' : ''
  return `\`\`${edge}${text}${edge}\`\``
}
