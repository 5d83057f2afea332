import { posix } from 'node:path'
import { read, type WorkspacePackage } from './repository.ts'

/** Returns the project's address: `homepage` of the root's package.json, its only source. */
export function homepage(): string {
  return (JSON.parse(read('package.json')) as { homepage: string }).homepage
}

/** Returns the fields of a published package.json that follow from the address. */
export function metadataOf({ folder }: WorkspacePackage): object {
  const home = homepage()
  return {
    homepage: `${home}/blob/main/${folder}#readme`,
    bugs: { url: `${home}/issues` },
    repository: { type: 'git', url: `git+${home}.git`, directory: folder },
  }
}

/**
 * Returns a README whose relative links are replaced by absolute ones, so that they work outside the
 * repository.
 */
export function withAbsoluteLinks({ folder }: WorkspacePackage, readme: string): string {
  const home = homepage()
  return readme
    .replaceAll(/\]\(https?:[^)\s]*\/blob\/main\/([^)\s]*)\)/g, (_, path) => `](${home}/blob/main/${path})`)
    .replaceAll(/\]\((\.{1,2}\/[^)\s]*)\)/g, (_, path) => `](${home}/blob/main/${posix.join(folder, path)})`)
}
