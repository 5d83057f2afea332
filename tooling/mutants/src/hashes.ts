import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readSource, ROOT } from './targets.ts'

/** Hash of all sources that tests may load, without the tests. */
export function sourcesHash(): string {
  const files = globSync('{packages,tooling}/*/{src,test}/**/*.ts', { cwd: ROOT })
  const loaded = files.filter(
    (file) => !file.endsWith('.test.ts') && !/^tooling\/(?:faults|galera|mutants|simulation)\//.test(file),
  )
  return hashOf(loaded.toSorted())
}

/** Hash of the names and contents of files. */
export function hashOf(files: readonly string[], more = ''): string {
  const hash = createHash('sha256').update(more)
  for (const file of files) hash.update(file).update(readSource(file))
  return hash.digest('hex').slice(0, 16)
}
