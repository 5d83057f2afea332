export { default } from '@looseleaf-tooling/vitest'
