import type { ReadEntity } from '@looseleaf/index-engine/internal'
import { committedVersions, takeInRowOrder, type VersionedPlace } from './committed-versions.ts'
import type { RowReaderFrom } from './row-reader.ts'

/**
 * Reads the versions of entities. An item has no bag if its row and its entity have the same version; the row then tells that it matches.
 * Reads an entity whole if they differ.
 */
export const versionReader: RowReaderFrom = ({ scanVersions, versions: readVersions, read }) => ({
  scan: scanVersions,
  async read(rows: readonly VersionedPlace[], signal, take) {
    const versions = await committedVersions(readVersions, rows, signal)
    const known = rows.map(({ key, entityId: id, version }, place): ReadEntity | undefined =>
      version === undefined || versions[place] !== version
        ? undefined
        : { id, bag: {}, key, version, updated: undefined, bytes: 0 },
    )
    await takeInRowOrder(rows, known, read, signal, take)
  },
})
