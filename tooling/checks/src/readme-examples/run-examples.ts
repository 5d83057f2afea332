import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Runs the examples of its arguments one after the other, because loading the packages takes longer than an
// example. The first one that fails ends the process, and one that leaves something open keeps it alive.
const folder = process.cwd()
for (const [number, path] of process.argv.slice(2).entries()) {
  // A folder for the files that the example creates.
  const own = join(folder, String(number))
  mkdirSync(own)
  process.chdir(own)
  await import(pathToFileURL(path).href)
}
