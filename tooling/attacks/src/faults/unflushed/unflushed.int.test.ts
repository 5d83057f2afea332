import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cluster, startCluster } from '../../lab/cluster.ts'
import { someOf } from '@looseleaf-tooling/vitest/long'
import { HANGING, prepareGround, type Ground } from './ground.ts'
import { buildLogHang, whyNoLogHang, type LogHang } from './log-hang.ts'
import { runAttempts, type AttemptsRun } from './run-attempts.ts'
import { experiments } from './scenarios.ts'
import { serverArguments } from './server-arguments.ts'

const LIMIT_MS = 120_000

const why = whyNoLogHang()
const leftOut = why === undefined ? '' : ` (left out: ${why})`

const variants = [
  { servers: 'servers without a binary log', binaryLog: false, lateFlushes: false },
  { servers: 'servers that are back before a flush', binaryLog: false, lateFlushes: true },
  { servers: 'servers with a binary log', binaryLog: true, lateFlushes: false },
]

describe.skipIf(why !== undefined).each(someOf(variants, 1))(
  `a commit that is visible but not durable, on $servers${leftOut}`,
  ({ binaryLog, lateFlushes }) => {
    let hang: LogHang | undefined
    let cluster: Cluster | undefined
    let run: AttemptsRun | undefined

    beforeAll(async () => {
      hang = await buildLogHang()
      cluster = await startCluster({
        own: { [HANGING]: hang.own },
        serverArguments: serverArguments(binaryLog),
      })
      const grounds: Ground[] = []
      for (const { making = {} } of experiments) grounds.push(await prepareGround(cluster, making))
      // All attempts share one crash, each with a database of its own.
      const prepared = experiments.map((experiment, i) => ({ experiment, ground: grounds[i] as Ground }))
      run = await runAttempts(cluster, hang, prepared, { lateFlushes })
      await Promise.all(grounds.map((ground) => ground.close()))
    }, LIMIT_MS)
    afterAll(async () => {
      await cluster?.stop()
      await hang?.remove()
    }, LIMIT_MS)

    test.each(experiments.map(({ name }, i) => ({ name, i })))(
      'no such commit is relied on by $name',
      ({ i }) => {
        const verdict = run?.verdicts[i]
        expect(verdict?.wrongs).toEqual([])
        // The run proves nothing unless the log hung and the commit was seen and lost.
        expect(run?.hung).toBeGreaterThan(0)
        expect(verdict).toMatchObject(binaryLog ? { wasSeen: false } : { wasSeen: true, wasLost: true })
      },
    )
  },
)
