export { default } from '@looseleaf-tooling/vitest/shared-modules'
