import { setTimeout as sleep } from 'node:timers/promises'
import { checkHistory } from '../history/check-history.ts'
import type { HistoryRecord, ProcessHistory } from '../history/records.ts'
import type { Facts, Judgement, Recorded, Scenario, Stage } from '../matrix/scenario.ts'
import { cleaned } from './cleaned.ts'
import { cleanedLater } from './cleaned-later.ts'
import { deferred } from './deferred.ts'
import type { Experiment } from './experiment.ts'
import { followed } from './followed.ts'
import { HANGING, prepareGround } from './ground.ts'
import { buildLogHang, type LogHang } from './log-hang.ts'
import { oneRow } from './one-row.ts'
import { readBack } from './read-back.ts'
import { runAttempts, type Outage } from './run-attempts.ts'
import { serverArguments } from './server-arguments.ts'

export const experiments: readonly Experiment[] = [
  readBack,
  cleaned,
  cleanedLater,
  oneRow,
  deferred,
  followed,
]

const KILLS = 'kills while the log hung'
const HUNG = 'calls of the server that waited for its log'
const SEEN = 'commits that others saw and no disk had'
const LOST = 'of these, undone by the crash'
const LATE = 'flushes held up until the server was back'

function unflushed(experiment: Experiment, binaryLog: boolean): Scenario {
  const { name, what, making } = experiment
  let hang: LogHang | undefined
  let outages: Outage[] = []

  return {
    name: `on no disk: ${name}${binaryLog ? ', with a binary log' : ''}`,
    what: binaryLog
      ? 'the same on servers with a binary log, which show no commit before it is on disk'
      : `the redo log of a server hangs, so that its commits can be seen and are on no disk, and it is killed: ${what}`,
    unit: 'kills',
    full: 4,
    config: { writing: { onIndexFailure: making?.onIndexFailure ?? 'fail' } },
    needs: [KILLS, HUNG, ...(binaryLog ? [] : [SEEN, LOST])],
    async ownCluster() {
      outages = []
      hang = await buildLogHang()
      const { own, remove } = hang
      return {
        options: {
          own: { [HANGING]: own },
          serverArguments: serverArguments(binaryLog),
        },
        remove,
      }
    },
    async run(stage) {
      const { facts, all } = await killAgainAndAgain(stage, experiment, hang as LogHang)
      outages = all
      return facts
    },
    judge: (recorded) => judgeWhatLasts(recorded, outages),
  }
}

async function killAgainAndAgain(
  { cluster, random, amount, wrong }: Stage,
  experiment: Experiment,
  hang: LogHang,
): Promise<{ readonly facts: Facts; readonly all: Outage[] }> {
  const ground = await prepareGround(cluster, experiment.making ?? {})
  const facts = { [KILLS]: 0, [HUNG]: 0, [SEEN]: 0, [LOST]: 0, [LATE]: 0 }
  const all: Outage[] = []
  try {
    for (let kills = 0; kills < amount; kills++) {
      const { verdicts, hung, outage } = await runAttempts(cluster, hang, [{ experiment, ground }], {
        lateFlushes: kills % 2 === 1,
      })
      all.push(outage)
      facts[KILLS]++
      facts[HUNG] += hung
      for (const { wasSeen, wasLost, wrongs } of verdicts) {
        if (wasSeen) facts[SEEN]++
        if (wasLost) facts[LOST]++
        for (const each of wrongs) wrong(each)
      }
      await sleep(300 + random.below(700))
    }
  } finally {
    facts[LATE] = ground.flushes.held
    await ground.close()
  }
  return { facts, all }
}

/** Upper bound for a visible commit to reach the disk, and for a call of the load. */
const FLUSH_MICROS = 2_000_000

/**
 * Judges strictly, except for reads and queries during an outage or shortly before: they may have seen
 * commits that the crash undid. Acknowledged writes must survive at any time.
 */
function judgeWhatLasts({ histories, sights, watch }: Recorded, outages: readonly Outage[]): Judgement {
  const lasts = (record: HistoryRecord): boolean =>
    (record.kind !== 'sight' && record.kind !== 'query') ||
    outages.every(({ from, to }) => record.end < from - FLUSH_MICROS || record.start > to)
  const lasting = histories.map(({ records, goneAt }): ProcessHistory => ({
    records: records.filter(lasts),
    goneAt,
  }))
  const { counts, wrongs } = checkHistory(lasting, sights)
  return { counts, wrongs: [...wrongs, ...watch.missing.map((row) => `missing during the run: ${row}`)] }
}

export const unflushedCommits: readonly Scenario[] = experiments.flatMap((experiment) => [
  unflushed(experiment, false),
  unflushed(experiment, true),
])
