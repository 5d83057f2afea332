import { readdirSync, readlinkSync } from 'node:fs'
import { moment } from '../../lab/records.ts'
import { holdsWithin } from '../../lab/until.ts'
import type { MemoryRecord } from '../history/records.ts'

const DESCRIPTORS = '/proc/self/fd'

/**
 * Samples the resources of this process. With `collect`, after a garbage collection, which needs
 * `--expose-gc`.
 */
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

/** Time for destroyed sockets to disappear, on a machine with many busy processes. */
const UNTIL_CLOSED_MS = 5_000

/** Samples after the store was closed. `sockets`: number of sockets before it was opened. */
export async function sampleClosed(sockets: number): Promise<MemoryRecord> {
  let sample = sampleResources('after')
  await holdsWithin(UNTIL_CLOSED_MS, () => {
    sample = sampleResources('after')
    return (sample.sockets ?? 0) <= sockets
  })
  return sample
}

/** Returns undefined if the system does not report sockets. */
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
      // The descriptor that reads the folder itself.
      return false
    }
  }).length
}
