import type { ConsumerShardReport } from '@looseleaf/changes'
import type { PendingReport, ShardReport } from '@looseleaf/cleaner'
import { isOutage, type LooseleafError } from '@looseleaf/core'
import { durationText } from '../duration-text.ts'
import { counted } from '../text.ts'
import { damagedRule, definitionsRule } from './body-rules.ts'
import { failingCallsRule, someCallsFailRule, writesRule } from './call-rules.ts'
import { lostRowsRule } from './lost-rows-rule.ts'
import { consumerRule, wentBackRule } from './went-back-rules.ts'
import {
  ageOf,
  indexesOf,
  indexText,
  lastRunOf,
  type Facts,
  type Finding,
  type Grade,
  type Rule,
} from './facts.ts'
import { tombstonesRule } from './tombstones-rule.ts'

const MINUTE = 60_000

/** Changes are handled within a second, as a rule. */
export const CONSUMER_LAG_MS: number = 5 * MINUTE

/** Replicas are behind by less than a second, as a rule. */
export const REPLICA_LAG_MS: number = MINUTE

/** Its rounds are seconds apart, and saved every ten: what is older is no pause. */
export const NO_CLEANER_MS: number = 5 * MINUTE
/** A round that has more to do than it can goes on at once, so a lag of minutes means that it does not keep up. */
export const LAG_MS: number = 5 * MINUTE
/** A worker saves about every second; a page may take long, and one that died is followed when its lease has run out. */
export const STALLED_MS: number = 10 * MINUTE
/** Pending rows are written within seconds of their shard's return. */
export const PENDING_MS: number = 10 * MINUTE
/** A sweep may be late by as much as it has time. */
export const SWEEPS_MISSED = 2
const SWEEP_EVERY_MS = 24 * 60 * MINUTE

/** Shards whose writes have to be followed, and that answer. */
const followedShards = ({ report }: Facts): readonly ShardReport[] =>
  report === undefined || report.indexes.length === 0
    ? []
    : report.shards.filter(({ error }) => error === undefined)

/** Whether an error is of a shard: one that does not answer, or refuses although the catalog could be read. */
const isOfShard = (error: LooseleafError, { policies }: Facts): boolean =>
  (error.shard !== undefined && policies !== undefined) || isOutage(error)

const isAbandoned = ({ sinceLastRoundMs }: ShardReport): boolean =>
  sinceLastRoundMs === undefined || sinceLastRoundMs > NO_CLEANER_MS

/** For how long anything may wait on purpose: until no failover can bring back what was before. */
const onPurposeMs = ({ policies }: Facts): number => policies?.deleteDelayMs ?? 0

/** Says when something happened whose time a wrong clock gave. */
const AT_A_TIME_TO_COME = 'at a time that is still to come, by a clock that was ahead'

function pendingText({ rows, more }: PendingReport): string {
  return more
    ? `more than ${counted(rows, 'index row is', 'index rows are')}`
    : counted(rows, 'index row is', 'index rows are')
}

function sum(shards: readonly ConsumerShardReport[], of: 'processes' | 'failing' | 'deadLetters'): number {
  return shards.reduce((total, shard) => total + shard[of], 0)
}

/** What a pager should know, rule by rule. Each finds nothing where all is well. */
export const rules: readonly Rule[] = [
  {
    name: 'shard',
    grade: 'act',
    see: 'When something fails',
    find(facts) {
      const { report, error } = facts
      const answers = (report?.shards ?? []).map(({ name, error: own }) => ({ name, error: own }))
      const whole = error !== undefined && isOfShard(error, facts) ? [{ name: error.shard, error }] : []
      return [...answers, ...whole].flatMap(({ name, error: own }) =>
        own === undefined
          ? []
          : [
              {
                about: name === undefined ? undefined : `shard ${name}`,
                what: `${own.code}: ${own.message}`,
                todo: isOutage(own)
                  ? 'bring the server back, or look at its address'
                  : 'do what the message says; look at the tables, the user and its rights',
              },
            ],
      )
    },
  },
  {
    name: 'catalog',
    grade: 'act',
    see: 'What a pager should know',
    find(facts) {
      const { error } = facts
      if (error === undefined || isOfShard(error, facts)) return []
      return [
        {
          about: undefined,
          what: `the catalog cannot be read: ${error.code}: ${error.message}`,
          todo: 'do what the message says; until then no process can open the store',
        },
      ]
    },
  },
  writesRule,
  failingCallsRule,
  someCallsFailRule,
  {
    name: 'no cleaner',
    // Rows too many cost time, and no answer is wrong; what a store defers has a rule of its own.
    grade: 'look',
    see: 'The cleaner',
    find: (facts) =>
      followedShards(facts)
        .filter(isAbandoned)
        .map(({ name, sinceLastRoundMs, lastRoundAt, worker }) => ({
          about: `shard ${name}`,
          what:
            sinceLastRoundMs === undefined
              ? lastRoundAt === undefined
                ? 'no cleaner has followed its writes so far'
                : `the clock of its server was ahead, so it is unknown how long ago a cleaner followed its writes; the last was ${worker ?? 'one'}`
              : `no cleaner has followed its writes for ${durationText(sinceLastRoundMs)}; the last was ${worker ?? 'one'}`,
          todo: 'run startCleaner in a process of the store',
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
          what: `the cleaner is ${lagMs === undefined ? 'an unknown time (the clock of its server was ahead)' : durationText(lagMs)} behind the writes, and ${isFallingBehind ? 'falls further behind' : 'catches up'}`,
          todo: isFallingBehind
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
      // Without a cleaner there is nobody to sweep, and another rule says so.
      if (report?.updatedAt === undefined) return []
      const allowedMs = SWEEPS_MISSED * (report.sweepEveryMs ?? SWEEP_EVERY_MS)
      return indexesOf(facts)
        .filter(({ state, underWay }) => state === 'ready' && underWay === undefined)
        .map((index) => ({ index, ageMs: index.lastRun && ageOf(index.lastRun.finishedAt, facts) }))
        .filter(({ ageMs }) => ageMs === undefined || ageMs > allowedMs)
        .map(({ index, ageMs }) => ({
          about: indexText(index),
          what:
            index.lastRun === undefined
              ? 'was never swept'
              : `was swept last ${ageMs === undefined ? AT_A_TIME_TO_COME : `${durationText(ageMs)} ago`}`,
          todo: `look at the cleaner's last error in looseleaf status, or run: looseleaf clean --index ${index.index}`,
        }))
    },
  },
  {
    name: 'run stalls',
    grade: 'look',
    see: 'Indexes on a live site',
    find(facts) {
      const allowedMs = STALLED_MS + onPurposeMs(facts)
      return indexesOf(facts).flatMap((index) => {
        const { underWay, halted } = index
        if (underWay === undefined || halted) return []
        const idleMs = ageOf(underWay.savedAt ?? underWay.startedAt, facts)
        if (idleMs !== undefined && idleMs <= allowedMs) return []
        const work = index.state === 'building' ? 'filling' : 'cleaning'
        return [
          {
            about: indexText(index),
            what:
              idleMs === undefined
                ? `its ${work} has gone on last ${AT_A_TIME_TO_COME}`
                : `its ${work} has not gone on for ${durationText(idleMs)}`,
            todo: `run a cleaner, or: looseleaf clean --index ${index.index}`,
          },
        ]
      })
    },
  },
  {
    name: 'missing rows',
    // Queries have missed entities, and will again while the cause is there.
    grade: 'act',
    see: 'What a pager should know',
    find: (facts) =>
      indexesOf(facts).flatMap((index) => {
        const missing = index.lastRun?.missing ?? 0
        // What a store defers is missing for a while by design, and is pending until then.
        if (missing === 0 || facts.policies?.onIndexFailure === 'defer') return []
        return [
          {
            about: indexText(index),
            what: `its last cleaning found ${counted(missing, 'row', 'rows')} missing, and added ${missing === 1 ? 'it' : 'them'}`,
            todo: 'find out what writes past the store, or which shard has lost commits; then: looseleaf clean --check',
          },
        ]
      }),
  },
  {
    name: 'pending rows',
    grade: 'act',
    see: 'An index shard is down',
    find(facts) {
      const allowedMs = PENDING_MS + onPurposeMs(facts)
      return (facts.report?.shards ?? []).flatMap(({ name, pending }) => {
        if (pending?.oldestAt === undefined) return []
        const ageMs = ageOf(pending.oldestAt, facts)
        if (ageMs !== undefined && ageMs <= allowedMs) return []
        const age =
          ageMs === undefined
            ? `written ${AT_A_TIME_TO_COME}`
            : `the oldest for ${pending.more ? 'at least ' : ''}${durationText(ageMs)}`
        return [
          {
            about: `shard ${name}`,
            what: `${pendingText(pending)} pending, ${age}; queries on them are not complete`,
            todo: 'bring the index shards back, and run a cleaner',
          },
        ]
      })
    },
  },
  {
    name: 'duplicates',
    // They were there before the index: it lets no new ones in.
    grade: 'look',
    see: 'Indexes on a live site',
    find: (facts) =>
      indexesOf(facts).flatMap((index) => {
        const duplicates = lastRunOf(index)?.duplicates ?? 0
        if (duplicates === 0) return []
        return [
          {
            about: indexText(index),
            what: `${counted(duplicates, 'entity has a key', 'entities have a key')} that another one has`,
            todo: `change one of each; they are listed by: looseleaf index violations ${index.index}`,
          },
        ]
      }),
  },
  damagedRule,
  {
    name: 'replica',
    // Those who would read from it read from its primary.
    grade: 'look',
    see: 'Reading from replicas',
    find: ({ replicas }) =>
      replicas.flatMap(({ name, primary, behindMs = 0, leftOut }) => {
        if (leftOut === undefined && behindMs <= REPLICA_LAG_MS) return []
        return [
          {
            about: `replica ${name}`,
            what:
              leftOut === undefined
                ? `is ${durationText(behindMs)} behind ${primary}`
                : `is not read from: ${leftOut}`,
            todo: 'look at SHOW REPLICA STATUS there, and whether the address is the one that is meant',
          },
        ]
      }),
  },
  {
    name: 'consumer lag',
    grade: 'look',
    see: 'Consumers of changes',
    find: ({ consumers }) =>
      consumers.flatMap(({ name, shards }) => {
        const behind = shards.filter(
          ({ error, lagMs }) => error === undefined && (lagMs ?? Infinity) > CONSUMER_LAG_MS,
        )
        if (behind.length === 0) return []
        const lags = behind.flatMap((shard) => shard.lagMs ?? [])
        const [processes, failing] = [sum(behind, 'processes'), sum(behind, 'failing')]
        const what =
          lags.length === 0
            ? 'is an unknown time behind, since the clock of a server was ahead'
            : `is ${lags.includes(Infinity) ? 'at its beginning' : `${durationText(Math.max(...lags))} behind`}`
        return [
          {
            about: `consumer ${name}`,
            what: `${what}; ${counted(processes, 'process is', 'processes are')} at it, ${counted(failing, 'change fails', 'changes fail')}`,
            todo:
              processes === 0
                ? `start it, or forget it: looseleaf consumer drop ${name}`
                : 'where changes fail, look at what its handler throws; else give it more concurrency or processes',
          },
        ]
      }),
  },
  {
    name: 'dead letters',
    grade: 'look',
    see: 'Consumers of changes',
    find: ({ consumers }) =>
      consumers.flatMap(({ name, shards }) => {
        const letters = sum(shards, 'deadLetters')
        if (letters === 0) return []
        return [
          {
            about: `consumer ${name}`,
            what: `has ${counted(letters, 'dead letter', 'dead letters')}`,
            todo: `looseleaf consumer letters ${name} has the errors; mend the handler, and replay them`,
          },
        ]
      }),
  },
  tombstonesRule,
  definitionsRule,
  wentBackRule,
  consumerRule,
  lostRowsRule,
]

/** Everything that somebody should know, what to act on first; nothing when all is well. */
export function findingsOf(facts: Facts): readonly Finding[] {
  return rules
    .flatMap(({ name, grade, see, find }) =>
      find(facts).map((found) => ({ grade, rule: name, ...found, see })),
    )
    .toSorted((a, b) => Number(a.grade === 'look') - Number(b.grade === 'look'))
}

/** How a store is, by the worst that was found. */
export function gradeOf(findings: readonly Finding[]): Grade {
  if (findings.length === 0) return 'well'
  return findings.some(({ grade }) => grade === 'act') ? 'act' : 'look'
}
