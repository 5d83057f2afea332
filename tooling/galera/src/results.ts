import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findGalera } from './find-galera.ts'

/** Git-ignored. */
const FOLDER = fileURLToPath(new URL('../../../.data/galera/', import.meta.url))

/** Keeps the newest result of each name, with where and when it was measured; answers its path. */
export function saveResult(name: string, result: object): string {
  mkdirSync(FOLDER, { recursive: true })
  const path = join(FOLDER, `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.json`)
  const circumstances = {
    at: new Date().toISOString(),
    server: findGalera()?.version ?? 'none',
    node: process.version,
    cpus: availableParallelism(),
  }
  writeFileSync(path, `${JSON.stringify({ ...circumstances, ...result }, null, 2)}\n`)
  return path
}
