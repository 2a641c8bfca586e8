# The examples that nvcc compiles. With the tests they are tests too: on a GPU, else under the interpreter of HALFSTEP_PTXRUN, else skipped.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)

# halfstep_cuda_example(name sources…)
function(halfstep_cuda_example name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE halfstep::cuda)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
endfunction()

# halfstep_cuda_example_test(program arguments…): a test of the program's name
function(halfstep_cuda_example_test program)
  if(HALFSTEP_TESTS)
    add_test(NAME ${program} COMMAND ${PROJECT_SOURCE_DIR}/tests/cuda/on_device.sh "${HALFSTEP_PTXRUN}" $<TARGET_FILE:${program}> ${ARGN})
    set_tests_properties(${program} PROPERTIES SKIP_RETURN_CODE 77 LABELS cuda TIMEOUT 1800)
    add_dependencies(halfstep_cuda_tests ${program})
  endif()
endfunction()

halfstep_cuda_example(custom_policy_cuda custom_policy.cu)
halfstep_cuda_example_test(custom_policy_cuda)

if(TARGET PNG::PNG AND TARGET fmt::fmt AND TARGET CLI11::CLI11)
  find_package(CUDAToolkit QUIET)
  halfstep_cuda_example(train_cuda train_cuda.cpp picture_fit_cuda/device_fit.cu)
  target_link_libraries(train_cuda PRIVATE PNG::PNG fmt::fmt CLI11::CLI11 CUDA::cudart)
  target_compile_definitions(train_cuda PRIVATE HALFSTEP_EXAMPLE_PHOTOGRAPH="${CMAKE_CURRENT_SOURCE_DIR}/data/coffee.png")
  if(TARGET CUDA::cublas)
    target_link_libraries(train_cuda PRIVATE CUDA::cublas)
    target_compile_definitions(train_cuda PRIVATE HALFSTEP_EXAMPLE_CUBLAS)
  else()
    message(STATUS "halfstep: no cuBLAS, so the example 'train_cuda' multiplies matrices by plain kernels")
  endif()
  halfstep_cuda_example_test(train_cuda --shrink 12 --steps 20 --seeds 1 --out train_cuda_test)
  if(HALFSTEP_TESTS)  # what the host's train reaches in 20 steps of the same job, 18.61 dB
    set_tests_properties(train_cuda PROPERTIES PASS_REGULAR_EXPRESSION "figure quality_cuda_fp16_dynamic 18\\.[56]")
  endif()
endif()
