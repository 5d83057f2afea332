import { reasonFor, scoreOf, type FileResult, type MutantsResultFile } from '@looseleaf-tooling/mutants'
import { markdownTable } from '../markdown-table.ts'
import { left, number, right, sum } from './format.ts'
import { TABLES } from './runs-part.ts'

/** Renders how many mutants of the protocol's code are killed. */
export function mutantsPart({ run, commit }: MutantsResultFile): string {
  const packages = [...Map.groupBy(run.files, ({ file }) => file.split('/')[1] ?? '')]
  const rows = packages.map(([name, files]) => row(name, files))
  const { every = 1 } = run
  const sample = every === 1 ? '' : `, on one mutant in ${every}`
  return `## Mistakes that tests notice

\`pnpm mutants\` puts one small mistake at a time into the code that keeps entities and index rows consistent: a missing guard, a
bound that is off by one, a call that is not made or not awaited. A test of the packages must fail; the simulation and the faults
above do not count. [Survivors](${TABLES}#mutants-that-survive) are listed.

${markdownTable(COLUMNS, [...rows, row('**all**', run.files)])}

Measured at ${commit}${sample}. A mutant hangs if a test did not end with it.`
}

/** Renders which mutants survive, and which no test can kill. */
export function mutantsTables({ run }: MutantsResultFile): string {
  const survived = run.files.flatMap(({ file, survived: all }) => all.map((each) => `- ${at(file, each)}`))
  const equivalent = run.files.flatMap(({ file, equivalent: all }) =>
    // A result keeps the wording of its time.
    all.map(([name, reason]) => `- \`${file}\` ${code(name)}: ${reasonFor({ file, name }) ?? reason}`),
  )
  return `## Mutants that survive${list('Survivors', survived)}${list('Equivalent mutants, which no test can kill', equivalent)}`
}

const COLUMNS = [
  left('package'),
  right('mutants'),
  right('killed'),
  right('hang'),
  right('survived'),
  right('score'),
  right('equivalent'),
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
