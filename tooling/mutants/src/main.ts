import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { changedSince } from './changed-lines.ts'
import { obsoleteReasons, reasonFor } from './equivalent.ts'
import { findMutants } from './find-mutants.ts'
import type { Mutant } from './mutant.ts'
import { runMutants } from './run-mutants.ts'
import { saveMutants } from './result-file.ts'
import { scoreOf } from './score.ts'
import { summarise } from './summarise.ts'
import { readSource, targetFiles } from './targets.ts'

const usage = `Usage: pnpm mutants [FILE…] [--since REV] [--name TEXT] [--every n] [--workers n] [--again] [--list]

Makes small changes of the protocol's code, one at a time, and checks whether a test fails.
  FILE         only files whose path contains this text
  --since REV  only lines that have changed since a revision
  --name TEXT  only mutants whose name contains this text
  --every n    only each n-th of them: a sample over all files
  --workers n  number of workers; default: one per core
  --again      also mutants whose outcome is known for the current code
  --list       only list mutants`

/** Least share of killed mutants, in percent. */
const GOAL = 95

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    since: { type: 'string' },
    name: { type: 'string' },
    every: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    again: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const mutantsOf = (file: string): readonly Mutant[] => findMutants(file, readSource(file))

async function main(): Promise<void> {
  const all = [...targetFiles().keys()].flatMap(mutantsOf)
  const obsolete = obsoleteReasons(all)
  if (obsolete.length > 0) {
    console.error(`Some reasons belong to mutants that do not exist:\n  ${obsolete.join('\n  ')}`)
    process.exitCode = 1
    return
  }
  const wanted = all.filter(selection())
  const every = Number(values.every)
  const chosen = wanted.filter((_, i) => i % every === 0)
  if (chosen.length === 0) return console.log('No mutant matches.')
  if (values.list) {
    for (const { file, line, name } of chosen) console.log(`${file}:${line} ${name}`)
    return
  }
  const mutants = chosen.filter((mutant) => reasonFor(mutant) === undefined)
  console.log(`${mutants.length} mutants, and ${chosen.length - mutants.length} equivalent ones.`)
  const startedAt = Date.now()
  const workers = Number(values.workers)
  const outcomes = await runMutants(mutants, { workers, again: values.again, tell: console.log })
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  const files = summarise(chosen, outcomes)
  const score = scoreOf(files)
  console.log('')
  for (const { file, survived } of files) for (const each of survived) console.log(`${file}:${each}`)
  console.log(`${score.toFixed(1)} % of ${mutants.length} killed, in ${seconds} s.`)
  if (wanted.length === all.length) saveMutants({ seconds, workers, every, files })
  if (score < GOAL) process.exitCode = 1
}

function selection(): (mutant: Mutant) => boolean {
  const isChanged = values.since === undefined ? undefined : changedSince(values.since)
  const { name = '' } = values
  return (mutant) =>
    (positionals.length === 0 || positionals.some((part) => mutant.file.includes(part))) &&
    mutant.name.includes(name) &&
    (isChanged?.(mutant.file, mutant.line) ?? true)
}

if (values.help || !(Number(values.workers) >= 1) || !(Number(values.every) >= 1)) {
  console.log(usage)
  process.exitCode = values.help ? 0 : 2
} else await main()
