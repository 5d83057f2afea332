import { execFile } from 'node:child_process'
import { mkdtemp, open, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Skip, type Scenario } from './scenario.ts'

const run = promisify(execFile)
const DISK_MIB = 256
const FILL_BYTES = 1024 * 1024

let disk: string | undefined

export const fullDisk: Scenario = {
  name: 'full disk',
  what: 'the disk of one shard is filled up by another file, and freed again',
  unit: 'seconds',
  full: 20,
  config: { largeBodies: 0.5 },
  needsErrors: ['SHARD_FULL'],
  async ownCluster() {
    const folder = await mkdtemp(join(tmpdir(), 'looseleaf-disk-'))
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', folder])
    } catch (error) {
      await rmdir(folder)
      throw new Skip('needs the right to mount a small tmpfs, as root has it', { cause: error })
    }
    disk = folder
    return {
      options: { own: { 1: { folder: join(folder, 'data') } } },
      async remove() {
        await run('umount', [folder])
        await rmdir(folder)
      },
    }
  },
  async run({ amount }) {
    const path = join(disk ?? '', 'filler')
    const filler = await open(path, 'w', 0o600)
    const block = Buffer.alloc(FILL_BYTES, 1)
    const until = performance.now() + amount * 1000
    let filled = 0
    try {
      while (performance.now() < until) {
        // Fills whatever space the server frees.
        const written = await filler.write(block).then(
          ({ bytesWritten }) => bytesWritten,
          () => 0,
        )
        filled += written
        if (written < block.length) await sleep(50)
      }
    } finally {
      await filler.close()
      await rm(path)
    }
    return { 'MiB filled': Math.round(filled / FILL_BYTES) }
  },
}
