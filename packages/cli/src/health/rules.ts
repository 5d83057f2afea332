import type { ConsumerReport } from '@looseleaf/changes'
import type { ShardReport } from '@looseleaf/cleaner/internal'
import type { LooseleafError } from '@looseleaf/core'
import { counted, durationText, isOutage } from '@looseleaf/core/internal'
import { damagedRule, codecEntriesRule } from './body-rules.ts'
import { failingCallsRule, someCallsFailRule, writesRule } from './call-rules.ts'
import { indexNotAddedRule } from './index-not-added-rule.ts'
import { emptiedTablesRule } from './emptied-tables-rule.ts'
import { moveRules } from './move-rules.ts'
import { consumerRule, rewindRule } from './rewind-rules.ts'
import { ageOf, indexesOf, indexText, type Facts, type Finding, type Grade, type Rule } from './facts.ts'
import { tombstonesRule } from './tombstones-rule.ts'

const MINUTE = 60_000

/** Tolerated lag of a consumer. Changes are usually handled within a second. */
export const CONSUMER_LAG_MS: number = 5 * MINUTE

/** Tolerated lag of a replica. It is usually less than a second. */
export const REPLICA_LAG_MS: number = MINUTE

/** Tolerated time without a cleaner's round. Rounds are seconds apart and saved every ten seconds. */
export const NO_CLEANER_MS: number = 5 * MINUTE
/** Tolerated lag of a cleaner. A full round is followed by the next one at once, so minutes mean that it does not keep up. */
export const LAG_MS: number = 5 * MINUTE
/** Tolerated time without saved progress. A worker saves about every second; a long page and an expired lease take longer. */
export const STALLED_MS: number = 10 * MINUTE
/** Tolerated age of pending rows. They are written within seconds of their shard's return. */
export const PENDING_MS: number = 10 * MINUTE
/** Tolerated age of a sweep, in intervals of sweeps. */
export const SWEEPS_MISSED = 2
const SWEEP_EVERY_MS = 24 * 60 * MINUTE

/** Returns the answering shards of a store with indexes: a cleaner must follow their writes. */
const followedShards = ({ report }: Facts): readonly ShardReport[] =>
  report === undefined || report.indexes.length === 0
    ? []
    : report.shards.filter(({ error }) => error === undefined)

/** Tells whether an error comes from a shard that does not answer, or that refuses although the catalog could be read. */
const isShardError = (error: LooseleafError, { policies }: Facts): boolean =>
  (error.shard !== undefined && policies !== undefined) || isOutage(error)

const isAbandoned = ({ sinceLastRoundMs }: ShardReport): boolean =>
  sinceLastRoundMs === undefined || sinceLastRoundMs > NO_CLEANER_MS

/** Tells whether a cleaner of the store was seen in the last minutes. A new one saves its first rounds some seconds after its start. */
function isCleanerSeen(facts: Facts): boolean {
  const { updatedAt } = facts.report ?? {}
  return updatedAt !== undefined && (ageOf(updatedAt, facts) ?? Infinity) <= NO_CLEANER_MS
}

/** Returns the time for which work waits by design: until no failover can undo a commit. */
const deleteDelayOf = ({ policies }: Facts): number => policies?.deleteDelayMs ?? 0

/** Phrase for an instant in the future, which a wrong clock has given. */
const IN_THE_FUTURE = 'at a time in the future, by a clock that was ahead'

function sum(shards: ConsumerReport['shards'], of: 'processes' | 'failing' | 'deadLetters'): number {
  return shards.reduce((total, shard) => total + shard[of], 0)
}

/** Rules of `looseleaf status --check`. Without a problem, a rule returns no finding. */
export const rules: readonly Rule[] = [
  {
    name: 'shard',
    grade: 'act',
    see: 'When something fails',
    find(facts) {
      const { report, error } = facts
      const reported = (report?.shards ?? []).flatMap((shard) =>
        shard.error === undefined ? [] : [{ name: shard.name as string | undefined, cause: shard.error }],
      )
      const whole =
        error !== undefined && isShardError(error, facts) ? [{ name: error.shard, cause: error }] : []
      return [...reported, ...whole].map(({ name, cause }) => ({
        about: name === undefined ? undefined : `shard ${name}`,
        problem: `${cause.code}: ${cause.message}`,
        instruction: isOutage(cause)
          ? 'bring the server back, or check its address'
          : 'do what the message says; check the tables, the user and its rights',
      }))
    },
  },
  {
    name: 'catalog',
    grade: 'act',
    see: 'Findings for a pager',
    find(facts) {
      const { error } = facts
      if (error === undefined || isShardError(error, facts)) return []
      const problem = `the catalog cannot be read: ${error.code}: ${error.message}`
      return [
        {
          about: undefined,
          problem,
          instruction: 'do what the message says; until then no process can open the store',
        },
      ]
    },
  },
  writesRule,
  failingCallsRule,
  someCallsFailRule,
  {
    name: 'no cleaner',
    // Superfluous rows cost time, and answers stay correct. Deferred rows have the rule `pending rows`.
    grade: 'look',
    see: 'The cleaner',
    find: (facts) =>
      followedShards(facts)
        .filter(isAbandoned)
        .filter(({ lastRoundAt }) => lastRoundAt !== undefined || !isCleanerSeen(facts))
        .map(({ name, sinceLastRoundMs, lastRoundAt, worker }) => ({
          about: `shard ${name}`,
          problem:
            sinceLastRoundMs === undefined
              ? lastRoundAt === undefined
                ? 'no cleaner has followed its writes so far'
                : `the clock of its server was ahead, so it is unknown how long ago a cleaner followed its writes; the last was ${worker ?? 'unknown'}`
              : `no cleaner has followed its writes for ${durationText(sinceLastRoundMs)}; the last was ${worker ?? 'unknown'}`,
          instruction: 'run startCleaner in a process of the store',
        })),
  },
  {
    name: 'lag',
    grade: 'look',
    see: 'The cleaner',
    find: (facts) =>
      followedShards(facts)
        .filter((shard) => !isAbandoned(shard) && (shard.lagMs ?? Infinity) > LAG_MS)
        .map(({ name, lagMs, isFallingBehind }) => ({
          about: `shard ${name}`,
          problem: `the cleaner is ${lagMs === undefined ? 'an unknown time (the clock of its server was ahead)' : durationText(lagMs)} behind the writes, and ${isFallingBehind ? 'falls further behind' : 'catches up'}`,
          instruction: isFallingBehind
            ? 'raise rowsPerRound, or give the cleaner a process of its own'
            : 'wait; look again in some minutes',
        })),
  },
  {
    name: 'sweep overdue',
    grade: 'look',
    see: 'The cleaner',
    find(facts) {
      const { report } = facts
      // A store without a cleaner has the rule `no cleaner`.
      if (report?.updatedAt === undefined) return []
      const allowedMs = SWEEPS_MISSED * (report.sweepEveryMs ?? SWEEP_EVERY_MS)
      return indexesOf(facts)
        .filter(({ state, inProgress }) => state === 'ready' && inProgress === undefined)
        .map((index) => ({ index, ageMs: index.lastRun && ageOf(index.lastRun.finishedAt, facts) }))
        .filter(({ ageMs }) => ageMs === undefined || ageMs > allowedMs)
        .map(({ index, ageMs }) => ({
          about: indexText(index),
          problem:
            index.lastRun === undefined
              ? 'was never swept'
              : `was swept last ${ageMs === undefined ? IN_THE_FUTURE : `${durationText(ageMs)} ago`}`,
          instruction: `check the cleaner's last error in looseleaf status, or run: looseleaf clean --index ${index.index}`,
        }))
    },
  },
  {
    name: 'run stalls',
    grade: 'look',
    see: 'Indexes on a live site',
    find(facts) {
      const allowedMs = STALLED_MS + deleteDelayOf(facts)
      return indexesOf(facts).map((index) => {
        const { inProgress, halted } = index
        if (inProgress === undefined || halted) return undefined
        const idleMs = ageOf(inProgress.savedAt ?? inProgress.startedAt, facts)
        if (idleMs !== undefined && idleMs <= allowedMs) return undefined
        const work = index.state === 'building' ? 'filling' : 'cleaning'
        return {
          about: indexText(index),
          problem:
            idleMs === undefined
              ? `its ${work} saved progress last ${IN_THE_FUTURE}`
              : `its ${work} has saved no progress for ${durationText(idleMs)}`,
          instruction: `run a cleaner, or: looseleaf clean --index ${index.index}`,
        }
      })
    },
  },
  {
    name: 'missing rows',
    // Queries have missed entities, and will do so again until the cause is removed.
    grade: 'act',
    see: 'Findings for a pager',
    find: (facts) =>
      indexesOf(facts).map((index) => {
        const missing = index.lastRun?.missing ?? 0
        // Deferred rows are missing for a while by design. The rule `pending rows` reports them.
        if (missing === 0 || facts.policies?.onIndexFailure === 'defer') return undefined
        return {
          about: indexText(index),
          problem: `its last cleaning found ${counted(missing, 'row', 'rows')} missing, and added ${missing === 1 ? 'it' : 'them'}`,
          instruction:
            'find the program that writes past the store, or the shard that has lost commits; then run: looseleaf clean --check',
        }
      }),
  },
  {
    name: 'pending rows',
    grade: 'act',
    see: 'An index shard is down',
    find(facts) {
      const allowedMs = PENDING_MS + deleteDelayOf(facts)
      return (facts.report?.shards ?? []).map(({ name, pending }) => {
        if (pending?.oldestAt === undefined) return undefined
        const ageMs = ageOf(pending.oldestAt, facts)
        if (ageMs !== undefined && ageMs <= allowedMs) return undefined
        const rows = `${pending.more ? 'more than ' : ''}${counted(pending.rows, 'index row is', 'index rows are')}`
        const age =
          ageMs === undefined
            ? `written ${IN_THE_FUTURE}`
            : `the oldest for ${pending.more ? 'at least ' : ''}${durationText(ageMs)}`
        return {
          about: `shard ${name}`,
          problem: `${rows} pending, ${age}; queries of their indexes are not complete`,
          instruction: 'bring the index shards back, and run a cleaner',
        }
      })
    },
  },
  {
    name: 'duplicates',
    // The duplicates are older than the index, which refuses new ones.
    grade: 'look',
    see: 'Indexes on a live site',
    find: (facts) =>
      indexesOf(facts).map((index) => {
        const duplicates = index.lastRun?.tally.duplicates ?? 0
        if (duplicates === 0) return undefined
        return {
          about: indexText(index),
          problem: `${counted(duplicates, 'entity has a key', 'entities have a key')} that another entity has`,
          instruction: `list them with: looseleaf index violations ${index.index}; change one entity of each pair`,
        }
      }),
  },
  damagedRule,
  {
    name: 'replica',
    // Reads from replicas fall back to the primary.
    grade: 'look',
    see: 'Reading from replicas',
    find: ({ replicas }) =>
      replicas.map(({ name, primary, behindMs = 0, exclusionReason }) => {
        if (exclusionReason === undefined && behindMs <= REPLICA_LAG_MS) return undefined
        return {
          about: `replica ${name}`,
          problem:
            exclusionReason === undefined
              ? `is ${durationText(behindMs)} behind ${primary}`
              : `is not read from: ${exclusionReason}`,
          instruction: 'check SHOW REPLICA STATUS there, and the address of the replica',
        }
      }),
  },
  {
    name: 'consumer lag',
    grade: 'look',
    see: 'Consumers of changes',
    find: ({ consumers }) =>
      consumers.map(({ name, shards }) => {
        const behind = shards.filter(
          ({ error, lagMs }) => error === undefined && (lagMs ?? Infinity) > CONSUMER_LAG_MS,
        )
        if (behind.length === 0) return undefined
        const lags = behind.flatMap((shard) => shard.lagMs ?? [])
        const [processes, failing] = [sum(behind, 'processes'), sum(behind, 'failing')]
        const problem =
          lags.length === 0
            ? 'is an unknown time behind, since the clock of a server was ahead'
            : `is ${lags.includes(Infinity) ? 'at its beginning' : `${durationText(Math.max(...lags))} behind`}`
        return {
          about: `consumer ${name}`,
          problem: `${problem}; ${counted(processes, 'process works on it', 'processes work on it')}, ${counted(failing, 'change fails', 'changes fail')}`,
          instruction:
            processes === 0
              ? `start it, or drop it: looseleaf consumer drop ${name}`
              : 'if changes fail, check the errors that its handler throws; otherwise give it more concurrency or processes',
        }
      }),
  },
  {
    name: 'dead letters',
    grade: 'look',
    see: 'Consumers of changes',
    find: ({ consumers }) =>
      consumers.map(({ name, shards }) => {
        const letters = sum(shards, 'deadLetters')
        if (letters === 0) return undefined
        return {
          about: `consumer ${name}`,
          problem: `has ${counted(letters, 'dead letter', 'dead letters')}`,
          instruction: `list the errors with: looseleaf consumer letters ${name}; fix the handler, and replay them`,
        }
      }),
  },
  tombstonesRule,
  codecEntriesRule,
  rewindRule,
  consumerRule,
  emptiedTablesRule,
  indexNotAddedRule,
  ...moveRules,
]

/** Returns the findings of all rules, with grade `act` first. */
export function findingsOf(facts: Facts): readonly Finding[] {
  return findingsBy(rules, facts)
}

/** Returns the findings of these rules, with grade `act` first. */
export function findingsBy<Needed>(chosen: readonly Rule<Needed>[], facts: Needed): readonly Finding[] {
  return chosen
    .flatMap(({ name, grade, see, find }) =>
      find(facts).flatMap((found) => (found === undefined ? [] : [{ grade, rule: name, ...found, see }])),
    )
    .toSorted((a, b) => Number(a.grade === 'look') - Number(b.grade === 'look'))
}

export function gradeOf(findings: readonly Finding[]): Grade {
  if (findings.length === 0) return 'well'
  return findings.some(({ grade }) => grade === 'act') ? 'act' : 'look'
}
