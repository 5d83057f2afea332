import { expect, test } from 'vitest'
import { isThere, read, workspacePackages } from './repository.ts'

/** Names that an entry exports, sorted. `entry-points.test.ts` makes sure that it lists each of them. */
function namesOf(entry: string): string[] {
  const lists = [...read(entry).matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = '']) => list)
  const names = lists.flatMap((list) => list.split(',').map((name) => name.trim().replace(/^type /, '')))
  return names
    .map((name) => name.split(' as ').at(-1) ?? '')
    .filter((name) => name !== '')
    .toSorted()
}

test('the public names of each package are those of public-names.txt; `vitest run -u` takes over a decision', async () => {
  const packages = workspacePackages('packages').map(({ folder, manifest }) => {
    const entry = `${folder}/src/index.ts`
    const names = isThere(entry) ? namesOf(entry) : []
    return [`${manifest.name} (${names.length})`, ...names.map((name) => `  ${name}`)].join('\n')
  })
  await expect(`${packages.join('\n\n')}\n`).toMatchFileSnapshot('./public-names.txt')
})
