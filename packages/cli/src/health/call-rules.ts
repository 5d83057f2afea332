import type { ErrorCode } from '@looseleaf/core'
import { counted, grouped, durationText } from '@looseleaf/core/internal'
import { NOTED_MS } from '@looseleaf/store/internal'
import { ageOf, type Facts, type Problem, type Rule } from './facts.ts'

/** Fraction of calls with a transient error from which on the failures are graded `act`. */
export const SHARE_TO_ACT = 0.01

const BUSY =
  'list statements and locks with looseleaf slow; where connections are short, raise max_connections or poolSize'

/** Instructions by code. Codes without one have them in their message. */
const INSTRUCTIONS: Partial<Record<ErrorCode, string>> = {
  SHARD_FULL:
    'make room on the disk of the shard, or move it to a larger one; calls pass again by themselves',
  SHARD_DENIED: 'give the user of the site its rights back, see "Databases, users, grants"',
  SHARD_UNAVAILABLE:
    'bring the server back; where it is read-only, give the address of the new primary or set read_only to OFF',
  SHARD_BUSY: BUSY,
  CONFLICT: 'find out which entity is written by all processes at once, and spread its writes',
  DEADLINE: 'list slow statements with looseleaf slow; look at the load of the server',
  OUTCOME_UNKNOWN: "look at the server's error log, and at the network to it",
  CACHE_UNAVAILABLE: 'bring the cache back',
}

/** Codes of transient errors: a retry of the call usually succeeds. */
const TRANSIENT: ReadonlySet<ErrorCode> = new Set([
  'SHARD_BUSY',
  'DEADLINE',
  'CONFLICT',
  'OUTCOME_UNKNOWN',
  'STALE_EPOCH',
  'CACHE_UNAVAILABLE',
])

const instructionFor = (code: ErrorCode): string => INSTRUCTIONS[code] ?? 'do what the message says'

export const writesRule: Rule = {
  name: 'writes',
  grade: 'act',
  see: 'When calls fail',
  find({ probes, report, error }) {
    const isSilent = (name: string): boolean =>
      error?.shard === name || (report?.shards ?? []).some((shard) => shard.name === name && shard.error)
    return probes.map(({ name, error: refusal }) => {
      // The rule `shard` reports shards that do not answer.
      if (refusal === undefined || isSilent(name)) return undefined
      const problem = `does not take a small write: ${refusal.code}: ${refusal.message}`
      return { about: `shard ${name}`, problem, instruction: instructionFor(refusal.code) }
    })
  },
}

type FailureGroup = ReturnType<typeof groupFailures>[number]

/** Sums the failures with one code on one shard over all processes, with the longest period of a note and the age of the newest one. */
function groupFailures(facts: Facts) {
  const recent = facts.failures.flatMap((report) => {
    const ageMs = ageOf(report.at, facts) ?? 0
    return report.isOver || ageMs > NOTED_MS ? [] : [{ ...report, ageMs }]
  })
  const each = recent.flatMap(({ failures, calls, periodMs, ageMs }) =>
    failures.map((failure) => ({
      failures: failure,
      count: failure.count,
      calls,
      processes: 1,
      periodMs,
      ageMs,
    })),
  )
  const groups = Map.groupBy(each, ({ failures: { code, shard } }) => JSON.stringify([code, shard]))
  return [...groups.values()].map((group) =>
    group.reduce((a, b) => ({
      failures: a.failures.lastAt > b.failures.lastAt ? a.failures : b.failures,
      count: a.count + b.count,
      calls: a.calls + b.calls,
      processes: a.processes + b.processes,
      periodMs: Math.max(a.periodMs, b.periodMs),
      ageMs: Math.min(a.ageMs, b.ageMs),
    })),
  )
}

const isUrgent = ({ failures: { code }, count, calls }: FailureGroup): boolean =>
  !TRANSIENT.has(code) || count >= calls * SHARE_TO_ACT

function problemOf({ failures, count, calls, processes, periodMs, ageMs }: FailureGroup): Problem {
  const { code, shard, message } = failures
  const share = calls === 0 ? '' : ` (${shareText(count / calls)})`
  return {
    about: shard === undefined ? undefined : `shard ${shard}`,
    problem: `${grouped(count)} of ${counted(calls, 'call', 'calls')}${share} failed with ${code} in ${durationText(periodMs)}, in ${counted(processes, 'process', 'processes')}; noted ${durationText(ageMs)} ago: ${message}`,
    instruction: instructionFor(code),
  }
}

function shareText(share: number): string {
  if (share < 0.01) return 'less than 1 %'
  if (share < 1 && share > 0.99) return 'more than 99 %'
  return `${Math.min(100, Math.round(share * 100))} %`
}

export const failingCallsRule: Rule = {
  name: 'failing calls',
  grade: 'act',
  see: 'When calls fail',
  find: (facts) => groupFailures(facts).filter(isUrgent).map(problemOf),
}

export const someCallsFailRule: Rule = {
  name: 'some calls fail',
  grade: 'look',
  see: 'When calls fail',
  find: (facts) =>
    groupFailures(facts)
      .filter((group) => !isUrgent(group))
      .map(problemOf),
}
