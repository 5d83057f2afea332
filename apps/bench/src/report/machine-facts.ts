import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { spreadOf, type Spread } from '../measure/statistics.ts'

/** Properties of the machine on which the numbers of a run depend. */
export interface MachineFacts {
  readonly cpu: string
  readonly cores: number
  readonly memoryMiB: number
  readonly system: string
  readonly node: string
  /** Load average of the minute before the part. */
  readonly loadAverage: number
  /** Milliseconds to write 4 KiB and flush them to the disk of the temporary folder. */
  readonly flushMs: Spread
  /** Type of the temporary folder's file system by statfs(2), in hexadecimal. 1021994 is tmpfs, where a flush costs nothing. */
  readonly fileSystem: string
}

const FLUSHES = 50

export function machineFacts(): MachineFacts {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    system: `${platform()} ${arch()}`,
    node: process.version,
    loadAverage: loadavg()[0] ?? 0,
    flushMs: measureFlush(),
    fileSystem: statfsSync(tmpdir()).type.toString(16),
  }
}

function measureFlush(): Spread {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-bench-'))
  try {
    const file = openSync(join(folder, 'flush'), 'w')
    const block = Buffer.alloc(4096)
    const times = Array.from({ length: FLUSHES }, () => {
      const begin = performance.now()
      writeSync(file, block)
      fdatasyncSync(file)
      return performance.now() - begin
    })
    closeSync(file)
    return spreadOf(times)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
