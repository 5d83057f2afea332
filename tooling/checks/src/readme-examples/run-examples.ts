import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Runs the examples of its arguments one after the other, because loading the packages takes longer than an
// example. The first one that fails ends the process, and one that leaves something open keeps it alive.
const folder = process.cwd()
const paths = process.argv.slice(2)
let ended = 0
process.on('exit', () => {
  // An example that calls `process.exit` skips the others.
  if (ended < paths.length) process.exitCode ||= 1
})
for (const path of paths) {
  // A folder for the files that the example creates.
  const own = join(folder, String(ended))
  mkdirSync(own)
  process.chdir(own)
  await import(pathToFileURL(path).href)
  ended++
}
