import { fullDisk } from './full-disk.ts'
import { killServers, killWriters, stopWriters } from './kills.ts'
import { everyProxyFault, proxyScenarios, shardDown } from './proxy-faults.ts'
import type { Scenario } from './scenario.ts'
import {
  deadlockStorm,
  killStorm,
  lateCommits,
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
  killStorm,
  deadlockStorm,
  readOnly,
  tooManyConnections,
  fullDisk,
  smallPackets,
  shardDown,
  lateCommits,
  serverClock,
  timeZones,
]

/** Those with these names, or all. Throws when a name is nobody's. */
export function scenariosNamed(names: readonly string[]): readonly Scenario[] {
  if (names.length === 0) return scenarios
  return names.map((name) => {
    const found = scenarios.find((scenario) => scenario.name.toLowerCase() === name.toLowerCase())
    if (found !== undefined) return found
    throw new Error(`There is no fault ${name}. There are: ${scenarios.map((each) => each.name).join(', ')}`)
  })
}
