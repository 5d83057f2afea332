/**
 * Writes the fields that follow from the root's `homepage` into every published package. Run `pnpm metadata`
 * after a change of `homepage`.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { metadataOf, withAbsoluteLinks } from './metadata.ts'
import { read, root, workspacePackages } from './repository.ts'

for (const one of workspacePackages('packages')) {
  const entries = Object.entries({ ...one.manifest, ...metadataOf(one) })
  // After the licence, where npm puts these fields too.
  const own = Object.keys(metadataOf(one))
  const others = entries.filter(([name]) => !own.includes(name))
  const at = others.findIndex(([name]) => name === 'license') + 1
  const ordered = others.toSpliced(at, 0, ...entries.filter(([name]) => own.includes(name)))
  writeFileSync(
    join(root, one.folder, 'package.json'),
    `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`,
  )
  const readme = `${one.folder}/README.md`
  writeFileSync(join(root, readme), withAbsoluteLinks(one, read(readme)))
}
