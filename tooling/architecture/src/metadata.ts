import { posix } from 'node:path'
import { read, type WorkspacePackage } from './repository.ts'

/** Where the project is, in the one place that says so: `homepage` of the root's package.json. */
export function homepage(): string {
  return (JSON.parse(read('package.json')) as { homepage: string }).homepage
}

/** What a published package.json says of that. */
export function metadataOf({ folder }: WorkspacePackage): object {
  const home = homepage()
  return {
    homepage: `${home}/blob/main/${folder}#readme`,
    bugs: { url: `${home}/issues` },
    repository: { type: 'git', url: `git+${home}.git`, directory: folder },
  }
}

/** A README with links that lead to the project's files from wherever it is shown; none of them is relative. */
export function withAbsoluteLinks({ folder }: WorkspacePackage, readme: string): string {
  const home = homepage()
  return readme
    .replaceAll(/\]\(https?:[^)\s]*\/blob\/main\/([^)\s]*)\)/g, (_, path) => `](${home}/blob/main/${path})`)
    .replaceAll(/\]\((\.{1,2}\/[^)\s]*)\)/g, (_, path) => `](${home}/blob/main/${posix.join(folder, path)})`)
}
