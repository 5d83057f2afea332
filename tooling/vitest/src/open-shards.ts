/** What test files have made and not dropped yet. A module of its own, so that tests without databases load no driver. */
export const openShards = new Set<{ drop(): Promise<void> }>()
