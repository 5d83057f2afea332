import { fullDisk } from './full-disk.ts'
import { manyForOneKey } from './key-fight.ts'
import { killServers, killWithDeleteDelay, killWriters, stopWriters } from './kills.ts'
import { movesOfBuckets } from './moves-of-buckets.ts'
import { lateCommits, lateCommitsForTheTail } from './late-commits.ts'
import {
  entityFirst,
  everyProxyFault,
  proxyScenarios,
  shardDown,
  shardDownDeferred,
  soak,
} from './proxy-faults.ts'
import { replicaFailovers } from './replica-failover.ts'
import { unflushedCommits } from '../unflushed/scenarios.ts'
import type { Scenario } from './scenario.ts'
import {
  deadlockStorm,
  killStorm,
  readOnly,
  serverClock,
  smallPackets,
  timeZones,
  tooManyConnections,
} from './server-faults.ts'

/** The matrix, in the order of the report. */
export const scenarios: readonly Scenario[] = [
  ...proxyScenarios,
  everyProxyFault,
  killServers,
  killWriters,
  stopWriters,
  killWithDeleteDelay,
  movesOfBuckets,
  killStorm,
  manyForOneKey,
  deadlockStorm,
  readOnly,
  tooManyConnections,
  fullDisk,
  smallPackets,
  shardDown,
  shardDownDeferred,
  entityFirst,
  lateCommits,
  lateCommitsForTheTail,
  serverClock,
  timeZones,
  ...replicaFailovers,
  ...unflushedCommits,
  soak,
]

/** Returns the scenarios with these names, or all. Throws if a name is unknown. */
export function scenariosNamed(names: readonly string[]): readonly Scenario[] {
  if (names.length === 0) return scenarios
  return names.map((name) => {
    const found = scenarios.find((scenario) => scenario.name.toLowerCase() === name.toLowerCase())
    if (found !== undefined) return found
    throw new Error(`Unknown fault ${name}. Faults: ${scenarios.map((each) => each.name).join(', ')}`)
  })
}
