import { readdirSync, readlinkSync } from 'node:fs'
import { moment } from '@looseleaf-tooling/lab/records'
import { holdsWithin } from '@looseleaf-tooling/lab/until'
import type { MemoryRecord } from '../history/records.ts'

const DESCRIPTORS = '/proc/self/fd'

/** What this process holds now; with `collect`, after whatever is garbage is gone. Needs `--expose-gc` for that. */
export function sampleResources(phase: MemoryRecord['phase'], collect = false): MemoryRecord {
  if (collect) global.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  return {
    kind: 'memory',
    at: moment(),
    heap: heapUsed,
    rss,
    sockets: openSockets(),
    ...(collect && global.gc !== undefined && { collected: true }),
    ...(phase !== undefined && { phase }),
  }
}

/** A socket that is destroyed is gone a little later, and that may take a while where many processes want to run. */
const UNTIL_CLOSED_MS = 5_000

/** What is left when the store is closed; `sockets`: how many there were before it was opened. */
export async function sampleClosed(sockets: number): Promise<MemoryRecord> {
  let sample = sampleResources('after')
  await holdsWithin(UNTIL_CLOSED_MS, () => {
    sample = sampleResources('after')
    return (sample.sockets ?? 0) <= sockets
  })
  return sample
}

/** Undefined where the system does not tell. */
function openSockets(): number | undefined {
  let descriptors: string[]
  try {
    descriptors = readdirSync(DESCRIPTORS)
  } catch {
    return undefined
  }
  return descriptors.filter((descriptor) => {
    try {
      return readlinkSync(`${DESCRIPTORS}/${descriptor}`).startsWith('socket:')
    } catch {
      // The one that the folder itself was read by.
      return false
    }
  }).length
}
