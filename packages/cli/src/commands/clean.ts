import {
  checkIndex,
  cleanIndex,
  type CheckResult,
  type CleanProgress,
  type CleanResult,
  type Problem,
} from '@looseleaf/cleaner'
import { InvalidArgumentError } from 'commander'
import { checkText, cleanText, isRight } from '../clean-view.ts'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { findIndex } from '../find-index.ts'
import type { Output } from '../output.ts'
import type { CommonOptions, Session } from '../session.ts'

interface CleanCommandOptions extends CommonOptions {
  readonly index?: readonly string[]
  readonly check?: boolean
  readonly restart?: boolean
  readonly rate?: number
  readonly lease?: number
}

/** Entities with a problem that are told one by one; the counts have them all. */
const MAX_TOLD = 20

const WAITING =
  'Another process works on the rest. Waiting for it to end; if it died, for its lease to run out (--lease, 30 seconds by default).'

/** `looseleaf clean`: brings indexes in step with the entities. */
export const addClean: AddCommand = (program, run) => {
  defineCommand(program, {
    usage: 'clean',
    summary: 'Fill new indexes and repair others, or check them',
    details:
      'Adds the index rows that are missing, deletes those that match no entity, checks, and makes the indexes that were being filled ready. The store may be in use. It may be stopped at any time, by Ctrl-C too, and goes on from there when it is run again; several may run at once and share the work.\n\nWith --check nothing is changed, and the exit code is 1 when something is wrong: index rows missing or on the wrong shard, keys of a unique index that their entity has not claimed, bodies that cannot be decoded. Rows that match no entity are counted; they change no answer, and a clean deletes them.\n\nJSON: { "indexes": [{ "index", "generation", "state", "entities", "rows", "added", "removed", "fenced", "waiting", "misplaced", "misfits", "duplicates", "undecodable", "unique": true for claims }], "added", "removed", "fenced", "waiting" }; with --check: { "ok", "indexes": [{ "index", "generation", "entities", "rows", "missing", "unclaimed", "dangling", "misplaced", "misfits", "undecodable", "unsettled", "examples": [id] }] }',
    examples: [
      ['clean', 'every index of the store'],
      ['clean --index entries_by_link', 'fill an index that was just added'],
      ['clean --check', 'recompute all indexes and compare'],
    ],
  })
    .option('--index <name...>', 'only these indexes (default: all)')
    .option('--check', 'compare, and change nothing')
    .option('--restart', 'begin from the start and write every row again: after a restore or a failover')
    .option('--rate <rows>', 'entities and rows read per second, at the most (default: no limit)', parseWhole)
    .option(
      '--lease <seconds>',
      'how long the work of a process that died waits for it (default: 30)',
      parseWhole,
    )
    .action((options: CleanCommandOptions) =>
      run(options, (session) => (options.check === true ? check(session, options) : clean(session, options))),
    )
}

async function clean(
  session: Session,
  { index: names, restart, rate, lease }: CleanCommandOptions,
): Promise<ExitCode> {
  const { output, signal } = session
  const store = await session.store()
  for (const name of names ?? []) findIndex(store, name)
  const progress = output.progress({ label: 'cleaning', unit: 'rows' })
  const position = createPosition(store.context.driver.shards.length)
  const problems = createProblemTeller(output, (write) => progress.aside(write))
  let hasWaited = false
  let result: CleanResult
  try {
    result = await cleanIndex(store, names, {
      signal,
      restart,
      rowsPerSecond: rate,
      leaseMs: lease && lease * 1000,
      onProblem: problems,
      onProgress: (at) => progress.update(...position(at)),
      onWait() {
        if (hasWaited) return
        hasWaited = true
        progress.aside(() => output.note(WAITING))
      },
    })
  } catch (error) {
    if (signal.aborted) {
      progress.stop()
      output.note('What was done is kept: the same command goes on from here.')
    }
    throw error
  } finally {
    progress.stop()
  }
  output.result(result, () => cleanText(output, result))
  const isLeft = result.indexes.some(({ undecodable, duplicates }) => undecodable + duplicates > 0)
  return isLeft ? exitCodes.found : exitCodes.ok
}

async function check(session: Session, options: CleanCommandOptions): Promise<ExitCode> {
  const { output, signal } = session
  const store = await session.store()
  const names = options.index ?? [
    ...new Set(
      store.context.catalog
        .current()
        .indexes.filter(({ state }) => state !== 'retiring')
        .map(({ name }) => name),
    ),
  ]
  const onProblem = createProblemTeller(output, (write) => write())
  const results: CheckResult[] = []
  for (const name of names) {
    results.push(await checkIndex(store, name, { signal, rowsPerSecond: options.rate, onProblem }))
  }
  const ok = results.every(isRight)
  output.result({ ok, indexes: results }, () => checkText(output, results))
  return ok ? exitCodes.ok : exitCodes.found
}

const PHASES: readonly CleanProgress['phase'][] = ['entities', 'dangling', 'check', 'ready']

/** Sums the shards up to rows done and the share of the whole, in which every phase of a shard counts the same. */
function createPosition(shardCount: number): (at: CleanProgress) => [done: number, fraction: number] {
  const shares = new Map<number, number>()
  const seen = new Map<string, number>()
  return ({ phase, shard, done, total }) => {
    const phases = PHASES.indexOf(phase) + (phase === 'ready' ? 0 : done / Math.max(1, total))
    shares.set(shard, Math.max(shares.get(shard) ?? 0, phases / (PHASES.length - 1)))
    seen.set(`${phase} ${shard}`, done)
    return [sum(seen.values()), sum(shares.values()) / shardCount]
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

function createProblemTeller(output: Output, aside: (write: () => void) => void): (problem: Problem) => void {
  const told = new Set<string>()
  return ({ kind, entity, shard, index, reason }) => {
    const key = `${kind} ${entity} ${index ?? ''}`
    if (told.has(key) || told.size > MAX_TOLD) return
    told.add(key)
    aside(() => {
      if (told.size > MAX_TOLD) output.note('More of these are counted below.')
      else
        output.note(
          `${output.colors.yellow(`${kind}:`)} entity ${entity} on ${shard}${index === undefined ? '' : `, index ${index}`}: ${reason}`,
        )
    })
  }
}

function parseWhole(text: string): number {
  const value = Number(text)
  if (!/^\d{1,9}$/.test(text) || value < 1)
    throw new InvalidArgumentError('It has to be a whole number, 1 or more.')
  return value
}
