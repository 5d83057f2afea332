/**
 * Databases that test files have created and not dropped yet. In its own module, so that tests without
 * databases load no driver.
 */
export const openShards = new Set<{ drop(): Promise<void> }>()
