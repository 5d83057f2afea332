import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { arch, availableParallelism, cpus, loadavg, platform, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { spreadOf, type Spread } from '../measure/statistics.ts'

/** What the figures of a run depend on besides the programs. */
export interface MachineFacts {
  readonly cpu: string
  readonly cores: number
  readonly memoryMiB: number
  readonly system: string
  readonly node: string
  /** Of the last minute, before the run; what is above 0 was somebody else's. */
  readonly loadAverage: number
  /** Milliseconds from a write of 4 KiB to its being on the disk that holds the temporary folder. */
  readonly flushMs: Spread
  /** The number of that disk's file system in statfs(2), in hexadecimal; 1021994 is memory, where a flush costs nothing. */
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
